// Maps names to values. A region sees the names of the enclosing scopes and captures those that it uses, level by
// level; the body of a function sees only its own.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>

#include "base/status.hpp"
#include "graph/graph.hpp"

namespace deputy::host::onnx_import {

class Scope {
 public:
  // `graph` holds the values. With `outer`, `graph` is the body of `region`, which receives the captures.
  explicit Scope(Graph& graph, Scope* outer = nullptr, Region* region = nullptr)
      : graph_(graph), outer_(outer), region_(region) {}
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  Graph& graph() { return graph_; }

  // Every name once (single static assignment). `id` may be kNone: an input of a function that the call omits.
  Status Define(const std::string& name, ValueId id);
  // A constant of this name, called `value_name` in the graph. It replaces a constant of the same name and scope, which
  // must have the same type: models with such duplicates exist, and ONNX Runtime takes the last one.
  Status DefineConstant(const std::string& name, std::string value_name, Tensor tensor);
  // A name whose use is an error, with the reason.
  Status DefineUnusable(const std::string& name, Status reason);
  // Captures a name of an enclosing scope if it is not defined here.
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
