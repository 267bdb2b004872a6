// Names to values. A region sees the names around it and captures what it uses of them, level by level; the body of a
// function sees only its own.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>

#include "base/status.hpp"
#include "graph/graph.hpp"

namespace deputy::host::onnx_import {

class Scope {
 public:
  // `graph` holds the values. With `outer` given, `region` is what its captures are added to, and `graph` its body.
  explicit Scope(Graph& graph, Scope* outer = nullptr, Region* region = nullptr)
      : graph_(graph), outer_(outer), region_(region) {}
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  Graph& graph() { return graph_; }

  // Every name once (single static assignment). `id` may be kNone: an input of a function that the call leaves out.
  Status Define(const std::string& name, ValueId id);
  // A constant of this name, called `value_name` in the graph. It replaces a constant that this scope has under the
  // name already, which must have the same type: models with such duplicates exist, and in ONNX Runtime the last wins.
  Status DefineConstant(const std::string& name, std::string value_name, Tensor tensor);
  // A name whose use is an error, with the reason; unused it does no harm.
  Status DefineUnusable(const std::string& name, Status reason);
  // Captures from outside when the name is not known here.
  Result<ValueId> Resolve(const std::string& name);

 private:
  Graph& graph_;
  Scope* outer_;
  Region* region_;
  std::unordered_map<std::string, ValueId> values_;
  std::unordered_map<std::string, Status> unusable_;
  std::unordered_set<ValueId> constants_;  // made by DefineConstant
};

}  // namespace deputy::host::onnx_import
