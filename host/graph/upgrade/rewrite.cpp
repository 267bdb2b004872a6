#include "graph/upgrade/rewrite.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "tensor/half.hpp"

namespace deputy::host {

ValueType NodeRewrite::input_type(size_t i) const { return has_input(i) ? types_[node_.inputs[i]] : ValueType(); }

const Tensor* NodeRewrite::constant(size_t i) const {
  return has_input(i) && graph_.values[node_.inputs[i]].is_constant() ? &graph_.values[node_.inputs[i]].constant
                                                                      : nullptr;
}

void NodeRewrite::SetConstant(size_t i, std::string_view what, Tensor tensor) {
  const std::string base =
      (node_.name.empty() ? std::string(node_.primitive.op_type()) : node_.name) + "." + std::string(what);
  std::string name = base;
  for (size_t copy = 2; !names_.insert(name).second; ++copy) name = base + "_" + std::to_string(copy);
  if (node_.inputs.size() <= i) node_.inputs.resize(i + 1, kNone);
  node_.inputs[i] = graph_.AddConstant(std::move(name), std::move(tensor));
}

Status NodeRewrite::SetInts(size_t i, std::string_view what, std::span<const int64_t> values) {
  DEPUTY_ASSIGN_OR_RETURN(Tensor tensor,
                          Tensor::FromValues<int64_t>(DType::kInt64, {static_cast<int64_t>(values.size())}, values));
  SetConstant(i, what, std::move(tensor));
  return {};
}

Status NodeRewrite::SetScalar(size_t i, std::string_view what, float value) {
  const DType dtype = input_type(0).dtype;
  DEPUTY_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(dtype == DType::kUndefined ? DType::kFloat32 : dtype, {}));
  switch (dtype) {
    case DType::kFloat32: tensor.mutable_values<float>()[0] = value; break;
    case DType::kFloat64: tensor.mutable_values<double>()[0] = static_cast<double>(value); break;
    case DType::kFloat16: tensor.mutable_values<uint16_t>()[0] = ToHalf(value).bits; break;
    case DType::kBFloat16: tensor.mutable_values<uint16_t>()[0] = ToBFloat16(value).bits; break;
    case DType::kUndefined:
      return Error(StatusCode::kNotSupported, "attribute '{}' cannot become an input: its input's type is not known",
                   what);
    default:
      return Error(StatusCode::kModel, "{} version {} does not take {}", primitive().op_type(), version(),
                   NameOf(dtype));
  }
  SetConstant(i, what, std::move(tensor));
  return {};
}

bool NodeRewrite::IsRead(ValueId id) const {
  bool read = std::find(graph_.outputs.begin(), graph_.outputs.end(), id) != graph_.outputs.end();
  for (const Node& node : graph_.nodes) node.ForEachRead([&](ValueId it) { read = read || it == id; });
  return read;
}

bool NodeRewrite::DropExtraOutputs() {
  for (size_t i = 1; i < node_.outputs.size(); ++i)
    if (node_.outputs[i] != kNone && IsRead(node_.outputs[i])) return false;
  if (node_.outputs.size() > 1) node_.outputs.resize(1);
  return true;
}

}  // namespace deputy::host
