// The graph of the model or of a region's body while it is written: its nodes, the captured values of the enclosing
// graph, and the current value of each variable. Operators are read in the order of execution, so the value of a
// variable is the last one assigned to it.
#pragma once

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "graph/graph.hpp"
#include "import/tflite/emitter.hpp"
#include "import/tflite/variables.hpp"

namespace deputy::host::tflite_import {

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
