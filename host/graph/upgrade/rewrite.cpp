#include "graph/upgrade/rewrite.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "tensor/half.hpp"

namespace deputy::host {

ValueType NodeRewrite::input_type(size_t i) const { return has_input(i) ? scope_.types[node_.inputs[i]] : ValueType(); }

const Tensor* NodeRewrite::constant(size_t i) const {
  return has_input(i) && graph_.values[node_.inputs[i]].is_constant() ? &graph_.values[node_.inputs[i]].constant
                                                                      : nullptr;
}

std::string NodeRewrite::UniqueName(std::string_view suffix) {
  const std::string base =
      (node_.name.empty() ? std::string(node_.primitive.op_type()) : node_.name) + "." + std::string(suffix);
  std::string name = base;
  // For many nodes of one name, counting from 2 each time would take quadratic time.
  for (size_t copy = 2; !scope_.names.insert(name).second; ++copy)
    name = base + "_" + std::to_string(copy < 8 ? copy : scope_.names.size() + copy);
  return name;
}

ValueId NodeRewrite::AddConstant(std::string_view suffix, Tensor tensor) {
  const ValueId id = graph_.AddConstant(UniqueName(suffix), std::move(tensor));
  scope_.types.push_back(graph_.values[id].type);
  return id;
}

void NodeRewrite::SetInput(size_t i, ValueId id) {
  if (node_.inputs.size() <= i) node_.inputs.resize(i + 1, kNone);
  node_.inputs[i] = id;
  while (!node_.inputs.empty() && node_.inputs.back() == kNone) node_.inputs.pop_back();
}

void NodeRewrite::SetConstant(size_t i, std::string_view suffix, Tensor tensor) {
  SetInput(i, AddConstant(suffix, std::move(tensor)));
}

ValueId NodeRewrite::AddBefore(std::string_view suffix, const PrimitiveBuilder& builder, std::vector<ValueId> inputs) {
  Node& added = before_.emplace_back();
  added.name = UniqueName(suffix);
  added.primitive = builder.Finish();
  added.inputs = std::move(inputs);
  added.outputs = {graph_.AddValue(added.name)};
  scope_.types.emplace_back();
  return added.outputs[0];
}

void NodeRewrite::AddAfter(std::string_view suffix, const PrimitiveBuilder& builder, std::vector<ValueId> others,
                           size_t i) {
  Node& added = after_.emplace_back();
  added.name = UniqueName(suffix);
  added.primitive = builder.Finish();
  added.outputs = {node_.outputs[i]};
  node_.outputs[i] = graph_.AddValue(added.name + ".input");
  scope_.types.emplace_back();
  added.inputs = {node_.outputs[i]};
  added.inputs.insert(added.inputs.end(), others.begin(), others.end());
}

Status NodeRewrite::SetInts(size_t i, std::string_view suffix, std::span<const int64_t> values) {
  DEPUTY_ASSIGN_OR_RETURN(Tensor tensor,
                          Tensor::FromValues<int64_t>(DType::kInt64, {static_cast<int64_t>(values.size())}, values));
  SetConstant(i, suffix, std::move(tensor));
  return {};
}

Status NodeRewrite::SetScalar(size_t i, std::string_view suffix, float value) {
  const DType dtype = input_type(0).dtype;
  DEPUTY_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(dtype == DType::kUndefined ? DType::kFloat32 : dtype, {}));
  switch (dtype) {
    case DType::kFloat32: tensor.mutable_values<float>()[0] = value; break;
    case DType::kFloat64: tensor.mutable_values<double>()[0] = static_cast<double>(value); break;
    case DType::kFloat16: tensor.mutable_values<uint16_t>()[0] = ToHalf(value).bits; break;
    case DType::kBFloat16: tensor.mutable_values<uint16_t>()[0] = ToBFloat16(value).bits; break;
    case DType::kUndefined:
      return Error(StatusCode::kNotSupported,
                   "attribute '{}' cannot be converted to an input: the element type is unknown", suffix);
    default:
      return Error(StatusCode::kModel, "{} version {} does not support dtype {}", primitive().op_type(), version(),
                   NameOf(dtype));
  }
  SetConstant(i, suffix, std::move(tensor));
  return {};
}

bool NodeRewrite::DropExtraOutputs() {
  for (size_t i = 1; i < node_.outputs.size(); ++i)
    if (node_.outputs[i] != kNone && node_.outputs[i] < scope_.read.size() && scope_.read[node_.outputs[i]])
      return false;
  if (node_.outputs.size() > 1) node_.outputs.resize(1);
  return true;
}

bool KnownNotNegative(const Tensor* integers) {
  const auto all = [](const auto values) {
    return std::all_of(values.begin(), values.end(), [](auto value) { return value >= 0; });
  };
  if (integers == nullptr) return false;
  if (integers->dtype() == DType::kInt64) return all(integers->values<int64_t>());
  return integers->dtype() == DType::kInt32 && all(integers->values<int32_t>());
}

}  // namespace deputy::host
