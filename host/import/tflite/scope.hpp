// The graph of the model or of a region's body while it is written: its nodes, the captured values of the enclosing
// graph, and the current value of each variable. Operators are read in the order of execution, so the value of a
// variable is the last one assigned to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "deputy/tensor.hpp"
#include "graph/graph.hpp"
#include "import/tflite/emitter.hpp"

namespace deputy::host::tflite_import {

using VariableId = size_t;

struct Variable {
  std::string name;
  Tensor initial;  // before the first run; empty: not assigned by then
};

// Resource variables, named by VAR_HANDLE, and variable tensors, which belong to one operator. Their values are kept
// between runs. [one-thread]
class Variables {
 public:
  // The same variable for the same names in any place.
  VariableId Resource(const std::string& container, const std::string& name) {
    return Find(resources_, {container, name}, name);
  }
  // A tensor of a subgraph that is marked as variable.
  VariableId OfTensor(uint32_t subgraph, int32_t tensor, const std::string& name) {
    return Find(tensors_, {subgraph, tensor}, name);
  }

  Variable& operator[](VariableId id) { return list_[id]; }

 private:
  template <class Map>
  VariableId Find(Map& map, const typename Map::key_type& key, const std::string& name) {
    const auto [found, added] = map.try_emplace(key, list_.size());
    if (added) list_.push_back({name, Tensor()});
    return found->second;
  }

  std::vector<Variable> list_;
  std::map<std::pair<std::string, std::string>, VariableId> resources_;
  std::map<std::pair<uint32_t, int32_t>, VariableId> tensors_;
};

// [one-thread]
class Scope {
 public:
  // The model's own graph. `first_run_only`: a graph that is read for its assignments and does not run (CALL_ONCE).
  Scope(Graph& graph, Variables& variables, bool first_run_only = false)
      : emit(graph), variables_(variables), first_run_only_(first_run_only) {}
  // The body of `region`, for a node of the outer graph. Both outlive this.
  Scope(Scope& outer, Region& region);
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  Emitter emit;

  Variables& variables() { return variables_; }
  bool is_region() const { return outer_ != nullptr; }
  bool first_run_only() const { return first_run_only_; }

  // The value in this region for a value of the enclosing graph.
  ValueId Capture(ValueId outer);

  // The value of a variable at this point. In the model's graph it is a new input if no operator assigned it yet.
  Result<ValueId> Read(VariableId variable);
  void Assign(VariableId variable, ValueId value);
  bool IsTouched(VariableId variable) const { return current_.count(variable) != 0; }
  // The variables that were assigned here, with their last values.
  std::vector<std::pair<VariableId, ValueId>> Assigned() const;

  // For the body of a loop: makes the initial value of the variable an input of the body instead of a capture.
  Result<ValueId> TakeAsInput(VariableId variable);

  // For the model's graph: appends the variables that are kept between runs to its inputs, and later to its outputs. A
  // variable that no run changes becomes a constant.
  Status AddStateInputs();
  Status AddStateOutputs();

 private:
  ValueId AddCapture(ValueId outer);
  Status ChangesType(const Variable& variable, const ValueType& before, const ValueType& after) const;

  Variables& variables_;
  Scope* outer_ = nullptr;
  Region* region_ = nullptr;
  bool first_run_only_ = false;
  std::map<ValueId, ValueId> captures_;  // outer to inner
  std::map<VariableId, ValueId> entered_, current_;
  std::set<VariableId> assigned_;
  std::vector<std::pair<VariableId, ValueId>> states_;
};

}  // namespace deputy::host::tflite_import
