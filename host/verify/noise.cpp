#include "verify/noise.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "deputy/element.hpp"
#include "tensor/limits.hpp"

namespace deputy::host {
namespace {

bool IsNarrowFloat(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat16 || dtype == DType::kBFloat16;
}

// Attributes of a node that name a floating-point type, or hold a tensor of one. False: it cannot be changed.
bool WidenAttributes(Node& node) {
  std::optional<PrimitiveBuilder> changed;
  const auto change = [&](std::string_view name, PrimitiveBuilder::Attribute value) {
    if (!changed) changed.emplace(node.primitive);
    changed->Set(name, std::move(value));
  };
  for (const std::string_view name :
       {std::string_view("to"), std::string_view("dtype"), std::string_view("output_dtype")})
    if (node.primitive.Has(name) && IsNarrowFloat(static_cast<DType>(node.primitive.GetInt(name, 0))))
      change(name, static_cast<int64_t>(DType::kFloat64));
  if (const std::optional<Tensor> value = node.primitive.GetTensor("value"); value && IsNarrowFloat(value->dtype())) {
    Result<Tensor> wide = AsFloat64(*value);
    if (!wide.ok()) return false;
    change("value", std::move(wide).value());
  }
  if (changed) node.primitive = changed->Finish();
  return true;
}

// Largest finite difference of elements. Limits of a type are not those of another, and show nothing of rounding.
double LargestDifference(const Tensor& a, const Tensor& b) {
  double largest = 0;
  for (int64_t i = 0; i < a.element_count(); ++i) {
    if (IsLimit(a.dtype(), ElementAt(a, i)) || IsLimit(b.dtype(), ElementAt(b, i))) continue;
    const double difference = std::fabs(ElementAt(a, i) - ElementAt(b, i));
    if (std::isfinite(difference)) largest = std::max(largest, difference);
  }
  return largest;
}

template <class Bits>
void DisturbElements(Tensor& tensor, Bits exponent, uint32_t most, uint64_t seed) {
  for (Bits& bits : tensor.mutable_values<Bits>()) {
    seed = seed * 6364136223846793005U + 1442695040888963407U;  // Knuth's linear congruential generator, MMIX
    const auto units = static_cast<Bits>(1 + (seed >> 41) % most);
    const Bits magnitude = bits & static_cast<Bits>(~Bits{0} >> 1);
    const auto moved = static_cast<Bits>((seed >> 40 & 1) != 0 ? bits + units : bits - units);
    if (magnitude > most && (bits & exponent) != exponent && (moved & exponent) != exponent) bits = moved;
  }
}

// Of quantized numbers.
bool IsNarrowInteger(DType dtype) {
  return dtype == DType::kInt8 || dtype == DType::kUint8 || dtype == DType::kInt16 || dtype == DType::kUint16;
}

}  // namespace

std::optional<Graph> WithFloat64(const Graph& graph) {
  Graph wide = graph;
  for (Value& value : wide.values) {
    if (!IsNarrowFloat(value.type.dtype)) continue;
    value.type.dtype = DType::kFloat64;
    if (!value.is_constant()) continue;
    Result<Tensor> constant = AsFloat64(value.constant);
    if (!constant.ok()) return std::nullopt;
    value.constant = std::move(constant).value();
  }
  for (Node& node : wide.nodes)
    if (!node.regions.empty() || !WidenAttributes(node)) return std::nullopt;
  return wide;
}

Result<Tensor> AsFloat64(const Tensor& tensor) {
  if (!IsNarrowFloat(tensor.dtype())) return tensor;
  DEPUTY_ASSIGN_OR_RETURN(Tensor wide, Tensor::Allocate(DType::kFloat64, tensor.shape()));
  const std::span<double> values = wide.mutable_values<double>();
  for (size_t i = 0; i < values.size(); ++i) values[i] = ElementAt(tensor, static_cast<int64_t>(i));
  return wide;
}

Result<Tensor> Disturbed(const Tensor& tensor, uint64_t seed) {
  if (!IsNarrowFloat(tensor.dtype()) && tensor.dtype() != DType::kFloat64) return tensor;
  DEPUTY_ASSIGN_OR_RETURN(Tensor copy, Tensor::Allocate(tensor.dtype(), tensor.shape()));
  if (copy.byte_size() != 0) std::memcpy(copy.mutable_data(), tensor.data(), copy.byte_size());
  switch (tensor.dtype()) {
    case DType::kFloat64: DisturbElements<uint64_t>(copy, 0x7FF0'0000'0000'0000, kDisturbance, seed); break;
    case DType::kFloat32: DisturbElements<uint32_t>(copy, 0x7F80'0000, kDisturbance, seed); break;
    case DType::kFloat16: DisturbElements<uint16_t>(copy, 0x7C00, 1, seed); break;
    default: DisturbElements<uint16_t>(copy, 0x7F80, 1, seed); break;
  }
  return copy;
}

Graph WithDisturbedConstants(const Graph& graph, uint64_t seed) {
  static constexpr std::array<std::string_view, 5> kOthers = {"Resize", "Upsample", "Range", "Pow", "Pad"};
  Graph disturbed = graph;
  for (const Node& node : graph.nodes) {
    if (std::find(kOthers.begin(), kOthers.end(), node.primitive.op_type()) != kOthers.end()) continue;
    for (const ValueId id : node.inputs) {
      if (id == kNone || !graph.values[id].is_constant()) continue;
      // Of the original, since several nodes may read it.
      if (Result<Tensor> constant = Disturbed(graph.values[id].constant, seed + id); constant.ok())
        disturbed.values[id].constant = std::move(constant).value();
    }
  }
  return disturbed;
}

bool IsNoise(const Tensor& got, const Tensor& reference, const Evidence& evidence, const Tolerance& tolerance) {
  const auto same_form = [&](const Tensor& other) { return other.shape() == reference.shape(); };
  if (got.dtype() != reference.dtype() || !same_form(got) || !IsNumeric(got.dtype())) return false;
  if (!IsFloating(got.dtype()) && !IsNarrowInteger(got.dtype())) {
    for (int64_t i = 0; i < got.element_count(); ++i) {
      const double value = ElementAt(got, i), expected = ElementAt(reference, i);
      if (value == expected) continue;
      const bool changes = std::any_of(evidence.disturbed.begin(), evidence.disturbed.end(), [&](const Tensor& other) {
        return same_form(other) && ElementAt(other, i) != expected;
      });
      const bool exact = evidence.exact && same_form(*evidence.exact) && ElementAt(*evidence.exact, i) == value;
      if (!changes && !exact) return false;
    }
    return true;
  }
  if (evidence.exact && same_form(*evidence.exact)) {
    Result<Tensor> exact = Tensor::Allocate(got.dtype(), got.shape());
    if (!exact.ok()) return false;
    for (int64_t i = 0; i < got.element_count(); ++i) {
      const double limit = ElementAt(reference, i);
      SetElement(*exact, i, IsLimit(reference.dtype(), limit) ? limit : ElementAt(*evidence.exact, i));
    }
    Tolerance wider = tolerance;
    wider.atol += kErrorFactor * LargestDifference(reference, *evidence.exact);
    if (CompareTensors(got, *exact, wider).ok) return true;
  }
  double largest = 0;
  for (const Tensor& other : evidence.disturbed)
    if (same_form(other)) largest = std::max(largest, LargestDifference(reference, other));
  Tolerance wider = tolerance;
  wider.atol += kDisturbedFactor * largest;
  return CompareTensors(got, reference, wider).ok;
}

}  // namespace deputy::host
