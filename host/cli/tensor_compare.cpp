#include "cli/tensor_compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "cli/element.hpp"
#include "cli/quantity.hpp"
#include "cli/shape_text.hpp"

namespace deputy::cli {
namespace {

double LargestMagnitude(const Tensor& tensor) {
  double largest = 0;
  for (int64_t i = 0; i < tensor.element_count(); ++i) {
    const double value = std::fabs(ElementAt(tensor, i));
    if (std::isfinite(value)) largest = std::max(largest, value);
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

}  // namespace

Comparison CompareTensors(const Tensor& got, const Tensor& want, const Tolerance& tolerance) {
  Comparison result;
  if (got.dtype() != want.dtype() || got.shape() != want.shape() || !IsNumeric(got.dtype())) {
    result.ok = false;
    result.misfit = fmt::format("got {}, want {}", TypeText(got), TypeText(want));
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
  return fmt::format("{} of {} elements differ, worst at {}: got {:.7g}, want {:.7g}, |d| {}, allowed {}",
                     comparison.wrong, comparison.elements, ShapeText(comparison.worst_index), comparison.worst_got,
                     comparison.worst_want, NumberText(comparison.worst_difference),
                     NumberText(comparison.worst_allowed));
}

}  // namespace deputy::cli
