// Inference of the random operators.
#include <algorithm>

#include "graph/inference/functions.hpp"
#include "graph/inference/operands.hpp"
#include "tensor/shape.hpp"

namespace deputy::host {
namespace {

// The element type that the attribute `dtype` names; without it `fallback`.
Result<DType> DrawnType(const InferenceContext& context, DType fallback) {
  const int64_t number = context.primitive().GetInt("dtype", static_cast<int64_t>(fallback));
  const DType dtype = number > 0 && number <= 31 ? static_cast<DType>(number) : DType::kUndefined;
  if (fallback != DType::kUndefined && dtype == fallback) return dtype;
  if (SizeOf(dtype) == 0) return UnsupportedElementType("dtype", number);
  return dtype;
}

Status OfShape(InferenceContext& context) {
  DEPUTY_ASSIGN_OR_RETURN(const DType dtype, DrawnType(context, DType::kFloat32));
  const std::span<const int64_t> shape = context.primitive().GetInts("shape");
  for (const int64_t extent : shape)
    if (extent < 0) return Error(StatusCode::kModel, "shape {} has a negative extent", ShapeToString(shape));
  DEPUTY_RETURN_IF_ERROR(DimProduct(shape).status());
  return context.Output(dtype, {shape.begin(), shape.end()});
}

Status DrawnLikeInput(InferenceContext& context) {
  DEPUTY_ASSIGN_OR_RETURN(const DType dtype, DrawnType(context, context.input(0).dtype));
  return LikeInput(context, dtype);
}

}  // namespace

Status InferRandomNormal(InferenceContext& context) { return OfShape(context); }
Status InferRandomUniform(InferenceContext& context) { return OfShape(context); }
Status InferRandomNormalLike(InferenceContext& context) { return DrawnLikeInput(context); }
Status InferRandomUniformLike(InferenceContext& context) { return DrawnLikeInput(context); }
Status InferBernoulli(InferenceContext& context) { return DrawnLikeInput(context); }

Status InferMultinomial(InferenceContext& context) {
  const ValueType& input = context.input(0);
  DEPUTY_ASSIGN_OR_RETURN(const DType dtype, DrawnType(context, DType::kInt32));
  if (dtype != DType::kInt32 && dtype != DType::kInt64)
    return Error(StatusCode::kModel, "dtype must be int32 or int64, got {}", NameOf(dtype));
  if (input.ranked && input.dims.size() != 2)
    return Error(StatusCode::kModel, "input must have rank 2, got shape {}", ShapeToString(input.dims));
  if (DimOf(input, 1) == 0)
    return Error(StatusCode::kModel, "input of shape {} has no classes to draw from", ShapeToString(input.dims));
  const int64_t samples = context.primitive().GetInt("sample_size", 1);
  if (samples < 1) return Error(StatusCode::kModel, "sample_size must be at least 1, got {}", samples);
  return context.Output(dtype, {input.ranked ? input.dims[0] : kUnknownDim, samples});
}

namespace {

// The n-grams are in a pool, those of one element first; `ngram_counts` has the place where those of each length begin.
Status CheckPool(const Primitive& primitive) {
  const std::span<const int64_t> begins = primitive.GetInts("ngram_counts");
  const size_t pool = std::max(primitive.GetInts("pool_int64s").size(), primitive.GetStrings("pool_strings").size());
  const size_t indexes = primitive.GetInts("ngram_indexes").size(), weights = primitive.GetFloats("weights").size();
  const auto size = static_cast<int64_t>(pool);
  int64_t grams = 0;
  for (size_t i = 0; i < begins.size(); ++i) {
    const int64_t length = static_cast<int64_t>(i) + 1, end = i + 1 < begins.size() ? begins[i + 1] : size;
    if (begins[i] < 0 || end < begins[i] || end > size || (end - begins[i]) % length != 0)
      return Error(StatusCode::kModel, "ngram_counts {} does not divide a pool of {} elements", ShapeToString(begins),
                   pool);
    grams += (end - begins[i]) / length;
  }
  if (grams != static_cast<int64_t>(indexes))
    return Error(StatusCode::kModel, "ngram_indexes has {} elements, expected {}, one for each n-gram", indexes, grams);
  if (weights != 0 && weights != indexes)
    return Error(StatusCode::kModel, "weights has {} elements, expected {}, one for each n-gram", weights, indexes);
  const int64_t least = primitive.GetInt("min_gram_length", 1), most = primitive.GetInt("max_gram_length", 1);
  const int64_t skipped = primitive.GetInt("max_skip_count", 0);
  if (least < 1 || most < least || most > static_cast<int64_t>(begins.size()) || skipped < 0)
    return Error(StatusCode::kModel,
                 "min_gram_length {} and max_gram_length {} with max_skip_count {} do not match {} ngram_counts", least,
                 most, skipped, begins.size());
  return {};
}

}  // namespace

Status InferTfIdfVectorizer(InferenceContext& context) {
  const ValueType& input = context.input(0);
  DEPUTY_RETURN_IF_ERROR(CheckPool(context.primitive()));
  int64_t width = 0;
  for (const int64_t index : context.primitive().GetInts("ngram_indexes")) {
    if (index < 0 || index >= INT32_MAX)
      return Error(StatusCode::kModel, "ngram_indexes has the out-of-range index {}", index);
    width = std::max(width, index + 1);
  }
  if (!input.ranked) return context.OutputUnranked(DType::kFloat32);
  if (input.dims.empty() || input.dims.size() > 2)
    return Error(StatusCode::kModel, "input must have rank 1 or 2, got shape {}", ShapeToString(input.dims));
  return context.Output(DType::kFloat32, input.dims.size() == 1 ? std::vector<int64_t>{width}
                                                                : std::vector<int64_t>{input.dims[0], width});
}

}  // namespace deputy::host
