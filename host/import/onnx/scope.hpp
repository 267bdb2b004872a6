// Names to values. A region sees the names around it and captures what it uses of them, level by level; the body of a
// function sees only its own.
#pragma once

#include <string>
#include <unordered_map>

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
  // A name whose use is an error, with the reason; unused it does no harm.
  Status DefineUnusable(const std::string& name, Status reason);
  // Captures from outside when the name is not known here.
  Result<ValueId> Resolve(const std::string& name);
  bool HasOwn(const std::string& name) const { return values_.count(name) != 0 || unusable_.count(name) != 0; }

 private:
  Graph& graph_;
  Scope* outer_;
  Region* region_;
  std::unordered_map<std::string, ValueId> values_;
  std::unordered_map<std::string, Status> unusable_;
};

}  // namespace deputy::host::onnx_import
