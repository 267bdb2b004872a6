#include "graph/inference/operands.hpp"

#include <algorithm>

#include "graph/graph.hpp"
#include "graph/inference/functions.hpp"

namespace deputy::host {
namespace {

template <class T>
Status CheckEach(std::span<const T> values, const ValueRange& range, const char* name) {
  for (const int64_t value : values)
    if ((value < range.least || value > range.most) && value != range.exempt)
      return Error(StatusCode::kModel, "input '{}' has the value {}, expected {} to {}", name, value, range.least,
                   range.most);
  return {};
}

template <class T>
Status CheckEachTuple(std::span<const T> values, std::span<const int64_t> extents, const char* name) {
  for (size_t at = 0; at < values.size(); ++at) {
    const int64_t value = values[at], extent = extents[at % extents.size()];
    if (extent >= 0 && (value < -extent || value >= extent))
      return Error(StatusCode::kModel, "input '{}' has the value {}, expected {} to {}", name, value, -extent,
                   extent - 1);
  }
  return {};
}

bool IsRanked(const InferenceContext& context, size_t i) { return context.has_input(i) && context.input(i).ranked; }

}  // namespace

int64_t CountOf(std::span<const int64_t> dims) {
  const Result<int64_t> count = DimProduct(dims);
  return count.ok() && *count >= 0 ? *count : kUnknownDim;
}

Status CheckShape(const InferenceContext& context, size_t i, std::span<const int64_t> expected, const char* name) {
  if (!IsRanked(context, i)) return {};
  const std::vector<int64_t>& dims = context.input(i).dims;
  if (std::equal(dims.begin(), dims.end(), expected.begin(), expected.end(), MayEqual)) return {};
  return Error(StatusCode::kModel, "input '{}' has shape {}, expected {}", name, ShapeToString(dims),
               ShapeToString(expected));
}

Status CheckBroadcastsTo(const InferenceContext& context, size_t i, std::span<const int64_t> shape, const char* name) {
  if (!IsRanked(context, i)) return {};
  const std::vector<int64_t>& dims = context.input(i).dims;
  for (size_t from_last = 0; from_last < dims.size(); ++from_last) {
    const int64_t own = dims[dims.size() - 1 - from_last];
    const int64_t wanted = from_last < shape.size() ? shape[shape.size() - 1 - from_last] : 1;
    if (own == 1 || MayEqual(own, wanted)) continue;
    return Error(StatusCode::kModel, "input '{}' with shape {} cannot be broadcast to shape {}", name,
                 ShapeToString(dims), ShapeToString(shape));
  }
  return {};
}

Status CheckElements(const InferenceContext& context, size_t i, int64_t count, const char* name) {
  if (!IsRanked(context, i)) return {};
  const std::vector<int64_t>& dims = context.input(i).dims;
  if (MayEqual(CountOf(dims), count)) return {};
  return Error(StatusCode::kModel, "input '{}' has shape {}, expected {} element{}", name, ShapeToString(dims), count,
               count == 1 ? "" : "s");
}

Status UnsupportedElementType(std::string_view attribute, int64_t number) {
  const char* const name = NameOfUnsupportedType(number);
  return Error(name != nullptr ? StatusCode::kNotSupported : StatusCode::kModel,
               "attribute '{}' is {}{}, which is not a supported element type", attribute, number,
               name != nullptr ? fmt::format(" ({})", name) : "");
}

Status CheckGiven(const InferenceContext& context, size_t i, const char* name) {
  if (context.has_input(i)) return {};
  return Error(StatusCode::kModel, "input {} ('{}') is missing", i, name);
}

Status CheckGivenTogether(const InferenceContext& context, size_t a, size_t b, const char* names) {
  if (context.has_input(a) == context.has_input(b)) return {};
  return Error(StatusCode::kModel, "{} must be given together", names);
}

const Tensor* ModelConstant(const InferenceContext& context, size_t i) {
  return context.time() == InferenceTime::kLoad ? context.constant(i) : nullptr;
}

Status CheckValues(const InferenceContext& context, size_t i, const ValueRange& range, const char* name) {
  const Tensor* const known = ModelConstant(context, i);
  if (known == nullptr) return {};
  if (known->dtype() == DType::kInt64) return CheckEach(known->values<int64_t>(), range, name);
  if (known->dtype() == DType::kInt32) return CheckEach(known->values<int32_t>(), range, name);
  return {};
}

Status CheckIndexValues(const InferenceContext& context, size_t i, int64_t extent, const char* name) {
  return extent < 0 ? Status() : CheckValues(context, i, {-extent, extent - 1}, name);
}

Status CheckTupleValues(const InferenceContext& context, size_t i, std::span<const int64_t> extents, const char* name) {
  const Tensor* const known = ModelConstant(context, i);
  if (known == nullptr || extents.empty()) return {};
  if (known->dtype() == DType::kInt64) return CheckEachTuple(known->values<int64_t>(), extents, name);
  if (known->dtype() == DType::kInt32) return CheckEachTuple(known->values<int32_t>(), extents, name);
  return {};
}

}  // namespace deputy::host
