// What an importer has to say about a file that it reads: each kind of doubt once, with the first node that has it.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "graph/operator.hpp"

namespace deputy::host::onnx_import {

class Warnings {
 public:
  void Add(std::string text) { texts_.push_back(std::move(text)); }
  // A node, as Describe() names it, of an operator of a known definition that has no such attribute.
  void UnknownAttribute(const std::string& node, const OperatorInfo& info, int32_t since, const std::string& name);
  // A node of a known operator for whose name the model has a function, too.
  void IgnoredFunction(const std::string& node, const OperatorInfo& info);
  // An operator is read by a definition that may not be the one of this opset.
  void NewerOpset(std::string_view domain, int64_t opset);

  // In the order in which they were found; a few of many.
  std::vector<std::string> Take();

 private:
  // Adds the text, or counts one more of its kind.
  void Once(const std::string& kind, std::string text);

  struct Repeated {
    size_t text, more = 0;  // the index of its text; further ones
  };
  std::vector<std::string> texts_;
  std::map<std::string, Repeated> kinds_;
};

}  // namespace deputy::host::onnx_import
