#include "import/tflite/emitter.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "graph/inference.hpp"

namespace deputy::host::tflite_import {
namespace {

template <class T>
Result<Tensor> Scalar(DType dtype, double value) {
  if constexpr (std::is_integral_v<T>) {
    using Limits = std::numeric_limits<T>;
    if (!(value >= static_cast<double>(Limits::lowest()) && value < std::ldexp(1.0, Limits::digits) &&
          value == std::trunc(value)))
      return Error(StatusCode::kModel, "elements of type {} cannot have the value {}", NameOf(dtype), value);
  }
  const T one[] = {static_cast<T>(value)};
  return Tensor::FromValues<T>(dtype, {}, std::span<const T>(one));
}

template <size_t kBytes>
void Move(const char* from, char* to, std::span<const int64_t> dims, std::span<const int64_t> strides) {
  if (dims.empty()) {
    std::memcpy(to, from, kBytes);
    return;
  }
  std::vector<int64_t> at(dims.size(), 0);
  const int64_t inner = dims.back(), step = strides.back() * static_cast<int64_t>(kBytes);
  for (int64_t offset = 0;;) {
    const char* source = from + offset * static_cast<int64_t>(kBytes);
    for (int64_t i = 0; i < inner; ++i, source += step, to += kBytes) std::memcpy(to, source, kBytes);
    size_t axis = dims.size() - 1;
    for (;;) {
      if (axis == 0) return;
      --axis;
      offset += strides[axis];
      if (++at[axis] < dims[axis]) break;
      offset -= strides[axis] * dims[axis];
      at[axis] = 0;
    }
  }
}

}  // namespace

void Emitter::BeginOperator(std::string name) { place_ = {std::move(name), {}}; }

std::string Emitter::NameFor(std::string_view base) {
  std::string name = place_.name.empty() ? std::string(base) : place_.name + "/" + std::string(base);
  const int before = place_.used[name]++;
  if (before != 0) name += "_" + std::to_string(before + 1);
  return name;
}

void Emitter::Name(ValueId id, const std::string& name) {
  named_.resize(graph_.values.size());
  if (named_[id] || name.empty()) return;
  named_[id] = 1;
  graph_.values[id].name = name;
}

Result<ValueId> Emitter::Emit(OpKind kind, std::vector<ValueId> inputs, const NodeAttributes& attributes) {
  DEPUTY_ASSIGN_OR_RETURN(const std::vector<ValueId> outputs, EmitMany(kind, std::move(inputs), 1, attributes));
  return outputs[0];
}

Node Emitter::MakeNode(OpKind kind, std::vector<ValueId> inputs, const NodeAttributes& attributes) {
  const OperatorInfo& info = *InfoOf(kind);
  while (!inputs.empty() && inputs.back() == kNone) inputs.pop_back();
  Node node;
  node.name = NameFor(info.name);
  PrimitiveBuilder builder(info.domain, info.name, info.newest());
  for (const NodeAttribute& attribute : attributes) builder.Set(attribute.name, attribute.value);
  node.primitive = builder.Finish();
  node.inputs = std::move(inputs);
  return node;
}

std::vector<ValueId> Emitter::EmitRegions(OpKind kind, std::vector<ValueId> inputs, std::vector<Region> regions,
                                          const std::vector<ValueType>& types, const NodeAttributes& attributes) {
  Node node = MakeNode(kind, std::move(inputs), attributes);
  node.regions = std::move(regions);
  for (size_t i = 0; i < types.size(); ++i)
    node.outputs.push_back(graph_.AddValue(i == 0 ? node.name : node.name + ":" + std::to_string(i), types[i]));
  graph_.nodes.push_back(std::move(node));
  return graph_.nodes.back().outputs;
}

std::vector<ValueId> Emitter::EmitForeign(const PrimitiveBuilder& builder, std::vector<ValueId> inputs,
                                          const std::vector<ValueType>& types) {
  Node node;
  node.primitive = builder.Finish();
  node.name = NameFor(node.primitive.op_type());
  node.inputs = std::move(inputs);
  for (size_t i = 0; i < types.size(); ++i)
    node.outputs.push_back(graph_.AddValue(i == 0 ? node.name : node.name + ":" + std::to_string(i), types[i]));
  graph_.nodes.push_back(std::move(node));
  return graph_.nodes.back().outputs;
}

Result<std::vector<ValueId>> Emitter::EmitMany(OpKind kind, std::vector<ValueId> inputs, size_t outputs,
                                               const NodeAttributes& attributes) {
  Node node = MakeNode(kind, std::move(inputs), attributes);
  std::vector<ValueType> types;
  std::vector<Tensor> constants;
  for (const ValueId id : node.inputs) {
    types.push_back(id == kNone ? ValueType() : graph_.values[id].type);
    constants.push_back(id == kNone ? Tensor() : graph_.values[id].constant);
  }
  for (size_t i = 0; i < outputs; ++i)
    node.outputs.push_back(graph_.AddValue(i == 0 ? node.name : node.name + ":" + std::to_string(i)));
  InferenceContext context(node, types, constants);
  DEPUTY_RETURN_IF_ERROR(InferNode(context));
  for (size_t i = 0; i < outputs; ++i) graph_.values[node.outputs[i]].type = context.outputs()[i];
  graph_.nodes.push_back(std::move(node));
  return graph_.nodes.back().outputs;
}

ValueId Emitter::Constant(Tensor tensor) { return graph_.AddConstant(NameFor("constant"), std::move(tensor)); }

Result<ValueId> Emitter::Ints(std::span<const int64_t> values) {
  DEPUTY_ASSIGN_OR_RETURN(Tensor tensor,
                          Tensor::FromValues<int64_t>(DType::kInt64, {static_cast<int64_t>(values.size())}, values));
  return Constant(std::move(tensor));
}

Result<ValueId> Emitter::Int(int64_t value) {
  DEPUTY_ASSIGN_OR_RETURN(Tensor tensor, Tensor::FromValues<int64_t>(DType::kInt64, {}, std::span(&value, 1)));
  return Constant(std::move(tensor));
}

Result<ValueId> Emitter::Number(double value, DType dtype) {
  if (dtype == DType::kFloat16 || dtype == DType::kBFloat16) {
    DEPUTY_ASSIGN_OR_RETURN(Tensor single, Scalar<float>(DType::kFloat32, value));
    return Cast(Constant(std::move(single)), dtype);
  }
  Result<Tensor> tensor = [&]() -> Result<Tensor> {
    switch (dtype) {
      case DType::kFloat32: return Scalar<float>(dtype, value);
      case DType::kFloat64: return Scalar<double>(dtype, value);
      case DType::kInt8: return Scalar<int8_t>(dtype, value);
      case DType::kUint8: return Scalar<uint8_t>(dtype, value);
      case DType::kInt16: return Scalar<int16_t>(dtype, value);
      case DType::kInt32: return Scalar<int32_t>(dtype, value);
      case DType::kInt64: return Scalar<int64_t>(dtype, value);
      case DType::kUint32: return Scalar<uint32_t>(dtype, value);
      default: return Error(StatusCode::kNotSupported, "elements of type {} are not supported here", NameOf(dtype));
    }
  }();
  if (!tensor.ok()) return std::move(tensor).status();
  return Constant(std::move(tensor).value());
}

Result<ValueId> Emitter::Cast(ValueId id, DType dtype) {
  if (TypeOf(id).dtype == dtype) return id;
  return Emit(OpKind::kCast, {id}, {{"to", static_cast<int64_t>(dtype)}});
}

Result<ValueId> Emitter::Transposed(ValueId id, std::span<const int64_t> perm) {
  bool same = true;
  for (size_t i = 0; i < perm.size(); ++i) same = same && perm[i] == static_cast<int64_t>(i);
  if (same) return id;
  return Emit(OpKind::kTranspose, {id}, {{"perm", std::vector<int64_t>(perm.begin(), perm.end())}});
}

std::vector<int64_t> Permuted(std::span<const int64_t> list, std::span<const int64_t> perm) {
  std::vector<int64_t> permuted;
  for (const int64_t axis : perm) permuted.push_back(list[static_cast<size_t>(axis)]);
  return permuted;
}

Result<Tensor> Permuted(const Tensor& tensor, std::span<const int64_t> perm) {
  std::vector<int64_t> strides(perm.size(), 1);
  for (size_t i = perm.size(); i-- > 1;) strides[i - 1] = strides[i] * tensor.shape()[i];
  strides = Permuted(strides, perm);
  DEPUTY_ASSIGN_OR_RETURN(Tensor made, Tensor::Allocate(tensor.dtype(), Permuted(tensor.shape(), perm)));
  if (made.element_count() == 0) return made;
  const auto* from = static_cast<const char*>(tensor.data());
  auto* to = static_cast<char*>(made.mutable_data());
  switch (SizeOf(tensor.dtype())) {
    case 1: Move<1>(from, to, made.shape(), strides); break;
    case 2: Move<2>(from, to, made.shape(), strides); break;
    case 4: Move<4>(from, to, made.shape(), strides); break;
    case 8: Move<8>(from, to, made.shape(), strides); break;
    default: return Error(StatusCode::kNotSupported, "elements of {} cannot be transposed", NameOf(tensor.dtype()));
  }
  return made;
}

Result<Tensor> Reshaped(const Tensor& tensor, Shape shape) {
  return Tensor::Wrap(tensor.dtype(), std::move(shape), const_cast<void*>(tensor.data()), tensor.byte_size(),
                      tensor.owner());
}

}  // namespace deputy::host::tflite_import
