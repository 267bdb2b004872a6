#include "cpu/ops/refusals.hpp"

namespace deputy::host {

Status RefuseUnless(const KernelSpec& spec, std::string_view attribute, int64_t neutral) {
  const int64_t value = spec.primitive().GetInt(attribute, neutral);
  if (value == neutral) return {};
  return Error(StatusCode::kNotSupported, "{} with {} {}", spec.primitive().op_type(), attribute, value);
}

Status RefuseUnless(const KernelSpec& spec, std::string_view attribute, std::string_view neutral) {
  const std::string_view value = spec.primitive().GetString(attribute, neutral);
  if (value == neutral) return {};
  return Error(StatusCode::kNotSupported, "{} with {} '{}'", spec.primitive().op_type(), attribute, value);
}

Status RefuseInput(const KernelSpec& spec, size_t input, std::string_view name) {
  if (!spec.has_input(input)) return {};
  return Error(StatusCode::kNotSupported, "{} with the input {}", spec.primitive().op_type(), name);
}

Status RefuseOutput(const KernelSpec& spec, size_t output, std::string_view name) {
  if (output >= spec.node.outputs.size() || spec.node.outputs[output] == kNone) return {};
  return Error(StatusCode::kNotSupported, "{} with the output {}", spec.primitive().op_type(), name);
}

Status RequireInputs(const KernelSpec& spec, std::initializer_list<size_t> inputs) {
  for (const size_t input : inputs)
    if (!spec.has_input(input))
      return Error(StatusCode::kModel, "input {} of {} is missing", input, spec.primitive().op_type());
  return {};
}

}  // namespace deputy::host
