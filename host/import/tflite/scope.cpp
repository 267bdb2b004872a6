#include "import/tflite/scope.hpp"

#include <algorithm>

#include "base/printable.hpp"

namespace deputy::host::tflite_import {

Scope::Scope(Scope& outer, Region& region)
    : emit(*region.body),
      variables_(outer.variables_),
      outer_(&outer),
      region_(&region),
      first_run_only_(outer.first_run_only_) {
  emit.graph().symbols = outer.emit.graph().symbols;
}

ValueId Scope::AddCapture(ValueId outer) {
  Graph& graph = emit.graph();
  const Value& value = outer_->emit.graph().values[outer];
  const ValueId inner = graph.AddValue("", value.type);
  emit.Name(inner, value.name);
  graph.captured.push_back(inner);
  region_->captures.push_back(outer);
  return inner;
}

ValueId Scope::Capture(ValueId outer) {
  const auto found = captures_.find(outer);
  if (found != captures_.end()) return found->second;
  const Value& value = outer_->emit.graph().values[outer];
  ValueId& inner = captures_[outer];
  if (!value.is_constant()) return inner = AddCapture(outer);
  inner = emit.graph().AddConstant("", value.constant);
  emit.Name(inner, value.name);
  return inner;
}

Result<ValueId> Scope::Read(VariableId variable) {
  if (const auto found = current_.find(variable); found != current_.end()) return found->second;
  if (outer_ != nullptr) {
    DEPUTY_ASSIGN_OR_RETURN(const ValueId outer, outer_->Read(variable));
    return entered_[variable] = current_[variable] = AddCapture(outer);
  }
  const Variable& it = variables_[variable];
  if (it.initial.empty())
    return Error(StatusCode::kNotSupported, "variable '{}' is read before it is assigned", Printable(it.name))
        .Advise("assign it by a CALL_ONCE before this operator");
  if (first_run_only_) return current_[variable] = emit.Constant(it.initial);
  const ValueId id = emit.graph().AddValue("", {it.initial.dtype(), true, it.initial.shape()});
  emit.Name(id, "variable " + it.name);
  return entered_[variable] = current_[variable] = id;
}

void Scope::Assign(VariableId variable, ValueId value) {
  current_[variable] = value;
  assigned_.insert(variable);
}

std::vector<std::pair<VariableId, ValueId>> Scope::Assigned() const {
  std::vector<std::pair<VariableId, ValueId>> list;
  for (const VariableId variable : assigned_) list.emplace_back(variable, current_.at(variable));
  return list;
}

Result<ValueId> Scope::TakeAsInput(VariableId variable) {
  Graph& graph = emit.graph();
  DEPUTY_ASSIGN_OR_RETURN(const ValueId outer, outer_->Read(variable));
  const auto entered = entered_.find(variable);
  ValueId inner = kNone;
  if (entered == entered_.end()) {
    inner = graph.AddValue("variable " + variables_[variable].name, outer_->emit.TypeOf(outer));
  } else {
    inner = entered->second;
    const auto place = std::find(graph.captured.begin(), graph.captured.end(), inner);
    region_->captures.erase(region_->captures.begin() + (place - graph.captured.begin()));
    graph.captured.erase(place);
  }
  graph.inputs.push_back(inner);
  return outer;
}

Status Scope::AddStateInputs() {
  Graph& graph = emit.graph();
  for (const auto& [variable, input] : entered_) {
    const Variable& it = variables_[variable];
    const ValueId last = current_.at(variable);
    if (last == input) {  // no run changes it
      graph.values[input].constant = it.initial;
      continue;
    }
    const ValueType &before = emit.TypeOf(input), &after = emit.TypeOf(last);
    if (after.dtype != before.dtype || (after.ranked && after.dims.size() != before.dims.size()))
      return ChangesType(it, before, after);
    for (size_t i = 0; i < after.dims.size(); ++i)
      if (after.dims[i] >= 0 && after.dims[i] != before.dims[i]) return ChangesType(it, before, after);
    graph.inputs.push_back(input);
    graph.initial_states.push_back(it.initial);
    states_.emplace_back(variable, last);
  }
  return {};
}

Status Scope::ChangesType(const Variable& variable, const ValueType& before, const ValueType& after) const {
  return Error(StatusCode::kNotSupported, "variable '{}' is {} before a run and {} after it, which is not supported",
               Printable(variable.name), Describe(emit.graph(), before), Describe(emit.graph(), after));
}

Status Scope::AddStateOutputs() {
  for (const auto& [variable, last] : states_) {
    DEPUTY_ASSIGN_OR_RETURN(const ValueId output, emit.Emit(OpKind::kIdentity, {last}));
    emit.Name(output, "variable " + variables_[variable].name + ":next");
    emit.graph().outputs.push_back(output);
  }
  return {};
}

}  // namespace deputy::host::tflite_import
