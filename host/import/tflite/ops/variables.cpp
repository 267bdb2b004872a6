// Resource variables.
#include "import/tflite/operators.hpp"

namespace deputy::host::tflite_import {

Status VarHandle(const Operation& op) {
  DEPUTY_ASSIGN_OR_RETURN(const auto* options, op.Options<fb::VarHandleOptions>());
  DEPUTY_ASSIGN_OR_RETURN(const std::string container, op.Text(options->container()));
  DEPUTY_ASSIGN_OR_RETURN(const std::string name, op.Text(options->shared_name()));
  return op.tensors.SetVariable(op.output(), op.scope.variables().Resource(container, name));
}

Status ReadVariable(const Operation& op) {
  DEPUTY_ASSIGN_OR_RETURN(const VariableId variable, op.tensors.VariableOf(op.input(0)));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId value, op.scope.Read(variable));
  return op.Set(value, true);
}

Status AssignVariable(const Operation& op) {
  DEPUTY_ASSIGN_OR_RETURN(const VariableId variable, op.tensors.VariableOf(op.input(0)));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId value, op.tensors.Stored(op.input(1)));
  op.scope.Assign(variable, value);
  return {};
}

}  // namespace deputy::host::tflite_import
