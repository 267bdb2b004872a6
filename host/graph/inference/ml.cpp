// Inference of the operators of ai.onnx.ml: rows of features to rows of scores, and to labels.
#include <algorithm>
#include <string_view>

#include "graph/inference/functions.hpp"

namespace deputy::host {
namespace {

// How many rows X has: one, where its rank is 1.
Result<int64_t> RowsOf(const InferenceContext& context) {
  const ValueType& x = context.input(0);
  if (!x.ranked) return kUnknownDim;
  if (x.dims.empty() || x.dims.size() > 2)
    return Error(StatusCode::kModel, "input 'X' has shape {}, expected rank 1 or 2", ShapeToString(x.dims));
  return x.dims.size() == 1 ? 1 : x.dims[0];
}

Status OutputScores(InferenceContext& context, int64_t scores) {
  DEPUTY_ASSIGN_OR_RETURN(const int64_t rows, RowsOf(context));
  return context.Output(DType::kFloat32, {rows, scores});
}

// Labels that are strings are given as their numbers in the list.
Status OutputClasses(InferenceContext& context, int64_t scores) {
  DEPUTY_ASSIGN_OR_RETURN(const int64_t rows, RowsOf(context));
  context.SetOutput(0, DType::kInt64, {rows});
  context.SetOutput(1, DType::kFloat32, {rows, scores});
  return {};
}

int64_t CountOfLabels(const Primitive& primitive, std::string_view ints) {
  const size_t strings = primitive.GetStrings("classlabels_strings").size();
  return static_cast<int64_t>(strings != 0 ? strings : primitive.GetInts(ints).size());
}

Status LikeX(InferenceContext& context) { return LikeInput(context, context.input(0).dtype); }

Status FloatsLikeX(InferenceContext& context) { return LikeInput(context, DType::kFloat32); }

// The element type of the values that a LabelEncoder gives.
DType TypeOfValues(const Primitive& primitive) {
  if (const std::optional<Tensor> values = primitive.GetTensor("values_tensor")) return values->dtype();
  if (primitive.Has("values_int64s")) return DType::kInt64;
  if (primitive.Has("values_floats")) return DType::kFloat32;
  return DType::kString;
}

}  // namespace

Status InferMl_ArrayFeatureExtractor(InferenceContext& context) {
  const ValueType &x = context.input(0), &indices = context.input(1);
  int64_t count = kUnknownDim;
  if (indices.ranked) {
    DEPUTY_ASSIGN_OR_RETURN(count, DimProduct(indices.dims));
  }
  if (!x.ranked) return context.OutputUnranked(x.dtype);
  if (x.dims.empty()) return Error(StatusCode::kModel, "input 'X' is a scalar, expected at least one axis");
  std::vector<int64_t> dims = x.dims;
  if (dims.size() == 1) dims.insert(dims.begin(), 1);
  dims.back() = count;
  return context.Output(x.dtype, std::move(dims));
}

Status InferMl_Binarizer(InferenceContext& context) { return LikeX(context); }
Status InferMl_Imputer(InferenceContext& context) { return LikeX(context); }
Status InferMl_Normalizer(InferenceContext& context) { return FloatsLikeX(context); }
Status InferMl_Scaler(InferenceContext& context) { return FloatsLikeX(context); }

// One of the two types is that of strings.
Status InferMl_CategoryMapper(InferenceContext& context) {
  return LikeInput(context, context.input(0).dtype == DType::kInt64 ? DType::kString : DType::kInt64);
}

Status InferMl_LabelEncoder(InferenceContext& context) {
  if (context.primitive().since_version() < 2) return InferMl_CategoryMapper(context);
  return LikeInput(context, TypeOfValues(context.primitive()));
}

Status InferMl_OneHotEncoder(InferenceContext& context) {
  const ValueType& x = context.input(0);
  if (!x.ranked) return context.OutputUnranked(DType::kFloat32);
  const size_t ints = context.primitive().GetInts("cats_int64s").size();
  std::vector<int64_t> dims = x.dims;
  dims.push_back(static_cast<int64_t>(ints != 0 ? ints : context.primitive().GetStrings("cats_strings").size()));
  return context.Output(DType::kFloat32, std::move(dims));
}

Status InferMl_FeatureVectorizer(InferenceContext& context) {
  int64_t columns = 0;
  for (const int64_t count : context.primitive().GetInts("inputdimensions"))
    if (__builtin_add_overflow(columns, count, &columns))
      return Error(StatusCode::kModel, "attribute 'inputdimensions': the sum of the elements is too large");
  const ValueType& x = context.input(0);
  const int64_t rows = !x.ranked || x.dims.empty() ? kUnknownDim : x.dims.size() == 1 ? 1 : x.dims[0];
  return context.Output(DType::kFloat32, {rows, columns});
}

Status InferMl_LinearClassifier(InferenceContext& context) {
  const Primitive& primitive = context.primitive();
  const auto rows = static_cast<int64_t>(primitive.GetFloats("intercepts").size());
  const int64_t labels = CountOfLabels(primitive, "classlabels_ints");
  return OutputClasses(context, rows == 1 && labels == 2 ? 2 : rows);
}

Status InferMl_LinearRegressor(InferenceContext& context) {
  return OutputScores(context, context.primitive().GetInt("targets", 1));
}

// Without probabilities a score for each pair of classes.
Status InferMl_SVMClassifier(InferenceContext& context) {
  const Primitive& primitive = context.primitive();
  const int64_t classes = CountOfLabels(primitive, "classlabels_ints");
  const std::span<const int64_t> vectors = primitive.GetInts("vectors_per_class");
  const bool has_vectors = std::any_of(vectors.begin(), vectors.end(), [](int64_t count) { return count != 0; });
  if (!has_vectors || !primitive.GetFloats("prob_a").empty()) return OutputClasses(context, classes);
  int64_t pairs = 0;
  if (__builtin_mul_overflow(classes, classes - 1, &pairs))
    return Error(StatusCode::kModel, "{} classes are too many", classes);
  return OutputClasses(context, classes > 2 ? pairs / 2 : 2);
}

Status InferMl_SVMRegressor(InferenceContext& context) { return OutputScores(context, 1); }

Status InferMl_TreeEnsembleClassifier(InferenceContext& context) {
  return OutputClasses(context, CountOfLabels(context.primitive(), "classlabels_int64s"));
}

Status InferMl_TreeEnsembleRegressor(InferenceContext& context) {
  return OutputScores(context, context.primitive().GetInt("n_targets", 1));
}

Status InferMl_TreeEnsemble(InferenceContext& context) {
  int64_t most = 0;
  for (const int64_t target : context.primitive().GetInts("leaf_targetids")) most = std::max(most, target);
  DEPUTY_ASSIGN_OR_RETURN(const int64_t rows, RowsOf(context));
  return context.Output(context.input(0).dtype, {rows, context.primitive().GetInt("n_targets", most + 1)});
}

}  // namespace deputy::host
