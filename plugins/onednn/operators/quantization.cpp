// QuantizeLinear and DequantizeLinear: activations with one scale, constants with one or one per index of an axis.
#include <algorithm>
#include <utility>

#include "operators/operators.hpp"

namespace onednn {
namespace {

bool IsByte(sdk::DType type) { return type == sdk::DType::kInt8 || type == sdk::DType::kUint8; }

template <class T>
void Append(const void* data, size_t count, std::vector<int32_t>& values) {
  values.insert(values.end(), static_cast<const T*>(data), static_cast<const T*>(data) + count);
}

std::vector<int32_t> ToInts(const void* data, sdk::DType type, size_t count) {
  std::vector<int32_t> values;
  if (type == sdk::DType::kInt8) Append<int8_t>(data, count, values);
  if (type == sdk::DType::kUint8) Append<uint8_t>(data, count, values);
  if (type == sdk::DType::kInt32) Append<int32_t>(data, count, values);
  return values;
}

sdk::Verdict SupportsScale(const sdk::NodeView& node) {
  if (node.Int("block_size", 0) != 0) return sdk::Verdict::No(sdk::Reason::kAttribute, "block_size");
  const sdk::ValueView scale = node.input(1), zero = node.input(2);
  if (!scale.is_constant() || (zero.exists() && !zero.is_constant()))
    return sdk::Verdict::No(sdk::Reason::kNotConstant, "scale and zero_point");
  if (scale.dtype() != sdk::DType::kFloat32) return sdk::Verdict::No(sdk::Reason::kDType, "scale must be float32");
  if (zero.exists() && zero.element_count() != scale.element_count())
    return sdk::Verdict::No(sdk::Reason::kShape, "scale and zero_point must have the same size");
  return sdk::Verdict::Yes();
}

sdk::Verdict SupportsQuantize(const sdk::NodeView& node) {
  if (node.input(0).dtype() != sdk::DType::kFloat32 || !IsByte(node.output(0).dtype()))
    return sdk::Verdict::No(sdk::Reason::kDType, "float32 to int8 or uint8");
  if (node.input(1).element_count() != 1) return sdk::Verdict::No(sdk::Reason::kShape, "only one scale is supported");
  return SupportsScale(node);
}

Scaling ScalingOf(const sdk::NodeView& node) {
  const sdk::ValueView zero = node.input(2);
  return {node.input(1).constant_values<float>()[0], zero.exists() ? ToInts(zero.constant(), zero.dtype(), 1)[0] : 0};
}

void ReadQuantize(const sdk::NodeView& node, Program& program) {
  const memory::data_type type =
      node.output(0).dtype() == sdk::DType::kInt8 ? memory::data_type::s8 : memory::data_type::u8;
  program.Bind(node.output(0), program.Add(Quantize{ScalingOf(node)}, {program.Find(node.input(0))},
                                           ToDims(node.output(0).dims()), type));
}

sdk::Verdict SupportsDequantize(const sdk::NodeView& node) {
  const sdk::ValueView x = node.input(0);
  const bool known = IsByte(x.dtype()) || (x.dtype() == sdk::DType::kInt32 && x.is_constant());
  if (!known || node.output(0).dtype() != sdk::DType::kFloat32)
    return sdk::Verdict::No(sdk::Reason::kDType, "int8 or uint8 to float32");
  const int64_t scales = node.input(1).element_count();
  if (scales != 1) {
    if (!x.is_constant()) return sdk::Verdict::No(sdk::Reason::kNotConstant, "the input of more than one scale");
    const size_t axis = static_cast<size_t>(FromFront(node.Int("axis", 1), x.rank()));
    if (axis >= x.rank() || scales != x.dims()[axis])
      return sdk::Verdict::No(sdk::Reason::kShape, "the number of scales must match the extent of axis");
  }
  return SupportsScale(node);
}

// The real numbers, for readers that do not take the integers.
std::shared_ptr<const Constant> Reals(const sdk::NodeView& node, const std::shared_ptr<const Integers>& integers) {
  const sdk::DType type = node.input(0).dtype();
  const memory::dims dims = integers->values->desc().dims();
  std::string recipe = "reals(" + integers->values->key() + "," + std::to_string(integers->axis);
  for (const float scale : integers->scales) recipe += "," + Exactly(scale);
  for (const int32_t zero : integers->zeros) recipe += "," + std::to_string(zero);
  return std::make_shared<Constant>(recipe + ")", dims, [integers, dims, type] {
    const size_t count = static_cast<size_t>(CountOf(dims));
    const std::vector<int32_t> given = ToInts(integers->values->data(), type, count);
    const memory::dims behind(dims.begin() + static_cast<std::ptrdiff_t>(integers->axis) + 1, dims.end());
    const size_t stride = static_cast<size_t>(CountOf(behind)), scales = integers->scales.size();
    std::vector<float> values(count);
    for (size_t i = 0; i < count; ++i) {
      const size_t at = i / stride % scales;
      values[i] = integers->scales[at] * static_cast<float>(int64_t{given[i]} - integers->zeros[at]);
    }
    return values;
  });
}

void ReadDequantize(const sdk::NodeView& node, Program& program) {
  const Value x = program.Find(node.input(0));
  if (program.constant(x) == nullptr) {
    program.Bind(node.output(0), program.Add(Dequantize{ScalingOf(node)}, {x}, program.dims(x)));
    return;
  }
  auto integers = std::make_shared<Integers>();
  integers->values = program.shared_constant(x);
  integers->scales = node.input(1).constant_values<float>().ToVector();
  integers->zeros.assign(integers->scales.size(), 0);
  if (const sdk::ValueView zero = node.input(2); zero.exists())
    integers->zeros = ToInts(zero.constant(), zero.dtype(), integers->scales.size());
  // A single scale applies to all elements, regardless of the axis.
  if (integers->scales.size() > 1)
    integers->axis = static_cast<size_t>(FromFront(node.Int("axis", 1), program.dims(x).size()));
  program.Bind(node.output(0), program.AddConstant(Reals(node, integers), integers));
}

constexpr const char* kNote = "beside a node that is computed here, constant parameters, one scale or constants";

constexpr Operator kQuantizationOperators[] = {
    {"QuantizeLinear", 1, SupportsQuantize, ReadQuantize, {}, kNote, true, kFloatsAndBytes},
    {"DequantizeLinear", 1, SupportsDequantize, ReadDequantize, {}, kNote, true, kFloatsAndBytes}};

}  // namespace

sdk::Span<const Operator> QuantizationOperators() {
  return {kQuantizationOperators, std::size(kQuantizationOperators)};
}

}  // namespace onednn
