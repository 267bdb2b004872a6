#include "deputy/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "compare/traits.hpp"
#include "deputy/element.hpp"
#include "tensor/limits.hpp"
#include "tensor/shape.hpp"

namespace deputy {
namespace {

std::string Describe(const Tensor& tensor) {
  return fmt::format("{} {}", NameOf(tensor.dtype()), host::ShapeToString(tensor.shape()));
}

// Whether the operator rounds to quantization steps; com.microsoft has more such operators than ONNX.
bool Rounds(std::string_view domain, std::string_view op_type) {
  static constexpr std::array<std::string_view, 5> kRounding = {
      "QuantizeLinear", "DynamicQuantizeLinear", "DynamicQuantizeLSTM", "DynamicQuantizeMatMul", "QGemm"};
  return (domain.empty() || domain == "com.microsoft") &&
         (op_type.substr(0, 7) == "QLinear" ||
          std::find(kRounding.begin(), kRounding.end(), op_type) != kRounding.end());
}

// The unit in the last place of 1; 0 for a type that narrows nothing.
double UnitOf(DType type) {
  switch (type) {
    case DType::kFloat32: return std::ldexp(1.0, -23);
    case DType::kFloat16: return std::ldexp(1.0, -10);
    case DType::kBFloat16: return std::ldexp(1.0, -7);
    default: return 0;
  }
}

double LargestMagnitude(const Tensor& tensor) {
  double largest = 0;
  for (int64_t i = 0; i < tensor.element_count(); ++i) {
    const double value = std::fabs(ElementAt(tensor, i));
    if (std::isfinite(value) && !host::IsLimit(tensor.dtype(), value)) largest = std::max(largest, value);
  }
  return largest;
}

double Difference(const Tensor& got, const Tensor& want, int64_t index, double a, double b) {
  const size_t size = SizeOf(got.dtype()), offset = static_cast<size_t>(index) * size;
  const auto* x = static_cast<const char*>(got.data()) + offset;
  const auto* y = static_cast<const char*>(want.data()) + offset;
  if ((size != 0 && std::memcmp(x, y, size) == 0) || (size == 0 && a == b) || (std::isnan(a) && std::isnan(b)))
    return 0;
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<double>::infinity();
  if (std::isinf(a) || std::isinf(b)) return a == b ? 0 : std::numeric_limits<double>::infinity();
  const bool wide = got.dtype() == DType::kInt64 || got.dtype() == DType::kUint64;
  return wide ? std::max(1.0, std::fabs(a - b)) : std::fabs(a - b);
}

Shape IndexOf(int64_t flat, const Shape& shape) {
  Shape index(shape.size());
  for (size_t axis = shape.size(); axis-- > 0;) {
    index[axis] = flat % shape[axis];
    flat /= shape[axis];
  }
  return index;
}

// The degree by which a difference exceeds the tolerance, for choosing the worst; infinite if the tolerance is zero.
double Excess(double difference, double allowed) {
  return allowed > 0 ? difference / allowed : std::numeric_limits<double>::infinity();
}

Comparison Compared(const Tensor& got, const Tensor& want, const Tolerance& tolerance) {
  Comparison result;
  if (got.dtype() != want.dtype() || got.shape() != want.shape() || !IsNumeric(got.dtype())) {
    result.ok = false;
    result.misfit = fmt::format("got {}, want {}", Describe(got), Describe(want));
    return result;
  }
  result.elements = got.element_count();
  const bool scaled = tolerance.atol_scale > 0 || tolerance.step_scale > 0;
  const double largest = scaled ? std::max(LargestMagnitude(want), tolerance.least_magnitude) : 0;
  const double base = tolerance.atol + tolerance.atol_scale * largest;
  const double step = tolerance.step + tolerance.step_scale * largest;
  for (int64_t i = 0; i < result.elements; ++i) {
    const double a = ElementAt(got, i), b = ElementAt(want, i);
    const double difference = Difference(got, want, i, a, b);
    result.max_difference = std::max(result.max_difference, difference);
    const double allowed = base + (std::isfinite(b) ? tolerance.rtol * std::fabs(b) : 0);
    if (difference <= allowed) continue;
    if (difference <= step) ++result.outliers;
    const double excess = Excess(difference, allowed), worst = Excess(result.worst_difference, result.worst_allowed);
    if (++result.wrong > 1 && !(excess > worst || (excess == worst && difference > result.worst_difference))) continue;
    result.worst_index = IndexOf(i, want.shape());
    result.worst_got = a;
    result.worst_want = b;
    result.worst_difference = difference;
    result.worst_allowed = allowed;
  }
  const double few = tolerance.outliers * static_cast<double>(result.elements);
  if (static_cast<double>(result.outliers) <= few) result.wrong -= result.outliers;
  result.ok = result.wrong == 0;
  return result;
}

std::string DescribeMismatch(const Comparison& comparison) {
  if (!comparison.misfit.empty()) return comparison.misfit;
  // All digits of whole numbers, whose last one may be the difference.
  const auto text = [](double value) {
    constexpr double kExact = 9007199254740992;  // 2^53
    const bool is_whole = std::trunc(value) == value && std::fabs(value) < kExact;
    return is_whole ? fmt::format("{:.0f}", value) : fmt::format("{:.7g}", value);
  };
  return fmt::format("{} of {} elements differ, worst at {}: got {}, want {}, |d| {:.4g}, allowed {:.4g}",
                     comparison.wrong, comparison.elements, host::ShapeToString(comparison.worst_index),
                     text(comparison.worst_got), text(comparison.worst_want), comparison.worst_difference,
                     comparison.worst_allowed);
}

}  // namespace

Comparison CompareTensors(const Tensor& got, const Tensor& want, const Tolerance& tolerance) {
  Comparison comparison = Compared(got, want, tolerance);
  if (!comparison.ok) comparison.description = DescribeMismatch(comparison);
  return comparison;
}

void host::AddPrecision(DType type, ModelTraits& traits) {
  if (UnitOf(type) > UnitOf(traits.computes_in)) traits.computes_in = type;
}

void host::AddNode(std::string_view domain, std::string_view op_type, std::string_view name, ModelTraits& traits) {
  static constexpr std::array<std::string_view, 6> kDrawing = {
      "Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"};
  ++traits.nodes;
  traits.quantized = traits.quantized || Rounds(domain, op_type);
  if (domain.empty() && std::find(kDrawing.begin(), kDrawing.end(), op_type) != kDrawing.end())
    traits.drawing = fmt::format("{} ({})", name, op_type);
}

Tolerance ToleranceFor(const ToleranceSettings& given, DType output, const ModelTraits& model) {
  Tolerance tolerance;
  if (!IsFloating(output) && SizeOf(output) > 2 && !model.quantized) tolerance.rtol = 0;
  if (IsFloating(output)) tolerance.atol_scale = model.is_network() ? 1e-5 : 1e-6;
  if (IsFloating(output) && model.is_network()) tolerance.least_magnitude = 0.01;
  if (output == DType::kFloat16 || output == DType::kBFloat16) {
    tolerance.rtol = 1e-2;
    tolerance.atol_scale = 1e-3;
  }
  if (model.quantized) {
    tolerance.outliers = 1e-2;
    if (IsFloating(output)) tolerance.step_scale = 1.0 / 16;
    if (output == DType::kInt8 || output == DType::kUint8) tolerance.step = 1;
  }
  const double unit = std::max(UnitOf(given.computes_in), UnitOf(model.computes_in));
  if (IsFloating(output) && unit > UnitOf(output)) {
    tolerance.rtol = std::max(tolerance.rtol, 16 * unit);
    tolerance.atol_scale = std::max(tolerance.atol_scale, (model.is_network() ? 64 : 16) * unit);
  }
  tolerance.rtol = given.rtol.value_or(tolerance.rtol);
  tolerance.atol = given.atol.value_or(tolerance.atol);
  tolerance.atol_scale = given.atol_scale.value_or(tolerance.atol_scale);
  tolerance.outliers = given.outliers.value_or(tolerance.outliers);
  return tolerance;
}

}  // namespace deputy
