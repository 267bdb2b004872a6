// Shape inference of convolutions, matrix products and normalizations, and of losses that models keep from training.
#include <algorithm>
#include <optional>

#include "base/checked.hpp"
#include "graph/inference/functions.hpp"
#include "graph/inference/operands.hpp"
#include "graph/inference/windows.hpp"

namespace deputy::host {
namespace {

Status CheckVector(const InferenceContext& context, size_t i, int64_t length, const char* name) {
  if (!context.has_input(i) || !context.input(i).ranked) return Status();
  const std::vector<int64_t>& dims = context.input(i).dims;
  if (dims.size() != 1) return Error(StatusCode::kModel, "{} has rank {}, expected 1", name, dims.size());
  if (length >= 0 && dims[0] >= 0 && dims[0] != length)
    return Error(StatusCode::kModel, "{} has {} values, expected {}", name, dims[0], length);
  return Status();
}

// Channels of the output. Convolution weights are [out, in / group, ...], transposed ones [in, out / group, ...].
Result<int64_t> CheckChannels(const ValueType& x, const ValueType& w, int64_t group, bool transposed) {
  if (group < 1) return Error(StatusCode::kModel, "group must be at least 1, got {}", group);
  const int64_t have = DimOf(x, 1), first = DimOf(w, 0), second = DimOf(w, 1);
  const std::optional<int64_t> grouped = CheckedMultiply(std::max<int64_t>(second, 0), group);
  if (!grouped)
    return Error(StatusCode::kModel, "the channel count of {} groups of {} channels overflows", group, second);
  if (first >= 0 && first % group != 0)
    return Error(StatusCode::kModel, "{} {} channels are not divisible by group ({})", first,
                 transposed ? "input" : "output", group);
  if (transposed) {
    if (have >= 0 && first >= 0 && have != first)
      return Error(StatusCode::kModel, "weights have {} input channels, input has {}", first, have);
    return second >= 0 ? *grouped : kUnknownDim;
  }
  if (have >= 0 && second >= 0 && *grouped != have)
    return Error(StatusCode::kModel, "weights have {} input channels per group ({} groups), input has {}", second,
                 group, have);
  return first >= 0 ? first : kUnknownDim;
}

Status InferConvolution(InferenceContext& context, bool transposed) {
  const ValueType& x = context.input(0);
  const ValueType& w = context.input(1);
  if (!x.ranked && !w.ranked) return context.OutputUnranked(x.dtype);
  const size_t rank = x.ranked ? x.dims.size() : w.dims.size();
  if (rank < 3) return Error(StatusCode::kModel, "input has rank {}, expected at least 3", rank);
  if (x.ranked && w.ranked && w.dims.size() != rank)
    return Error(StatusCode::kModel, "weights have rank {}, input has rank {}", w.dims.size(), rank);
  const int64_t group = context.primitive().GetInt("group", 1);
  DEPUTY_ASSIGN_OR_RETURN(const int64_t channels, CheckChannels(x, w, group, transposed));
  DEPUTY_RETURN_IF_ERROR(CheckVector(context, 2, channels, "bias"));

  std::vector<int64_t> dims = UnknownDims(rank);
  dims[0] = DimOf(x, 0);
  dims[1] = channels;
  const WindowOptions options = WindowOptionsOf(context.primitive());
  const std::vector<int64_t> w_dims = w.ranked ? w.dims : UnknownDims(rank);
  const std::span<const int64_t> kernel = std::span<const int64_t>(w_dims).subspan(2);
  if (x.ranked && (!options.kernel.empty() || IsStatic(kernel))) {
    DEPUTY_ASSIGN_OR_RETURN(const Window window, WindowForWeights(options, kernel));
    DEPUTY_ASSIGN_OR_RETURN(const std::vector<int64_t> spatial,
                            InferWindow(window, std::span<const int64_t>(x.dims).subspan(2),
                                        transposed ? WindowUse::kTransposedConvolution : WindowUse::kConvolution));
    std::copy(spatial.begin(), spatial.end(), dims.begin() + 2);
  }
  return context.Output(x.dtype, std::move(dims));
}

Status SameAsInput(InferenceContext& context, size_t least_rank) {
  const ValueType& x = context.input(0);
  if (x.ranked && x.dims.size() < least_rank)
    return Error(StatusCode::kModel, "input has rank {}, expected at least {}", x.dims.size(), least_rank);
  return context.Output(x);
}

// Scores are [N,C,d1,...], the target [N,d1,...] and the weights [C].
Status CheckLossOperands(const InferenceContext& context) {
  const ValueType& scores = context.input(0);
  if (!scores.ranked) return Status();
  std::vector<int64_t> dims = scores.dims;
  dims.erase(dims.begin() + 1);
  const int64_t classes = scores.dims[1];
  DEPUTY_RETURN_IF_ERROR(CheckShape(context, 1, dims, "target"));
  DEPUTY_RETURN_IF_ERROR(CheckShape(context, 2, {classes}, "weights"));
  if (classes < 0) return Status();
  ValueRange range{0, classes - 1};
  if (context.primitive().Has("ignore_index")) range.exempt = context.primitive().GetInt("ignore_index", 0);
  return CheckValues(context, 1, range, "target");
}

Status InferLoss(InferenceContext& context) {
  const std::string_view reduction = context.primitive().GetString("reduction", "mean");
  if (reduction != "none" && reduction != "mean" && reduction != "sum")
    return Error(StatusCode::kModel, "reduction must be none, mean or sum, got '{}'", reduction);
  const ValueType &scores = context.input(0), &target = context.input(1);
  if (scores.ranked && scores.dims.size() < 2)
    return Error(StatusCode::kModel, "scores has rank {}, expected at least 2", scores.dims.size());
  DEPUTY_RETURN_IF_ERROR(CheckLossOperands(context));
  if (reduction == "none") {
    ValueType type = target;
    type.dtype = scores.dtype;
    context.SetOutput(0, std::move(type));
  } else {
    context.SetOutput(0, scores.dtype, {});
  }
  return {};
}

}  // namespace

Status InferConv(InferenceContext& context) { return InferConvolution(context, false); }
Status InferConvTranspose(InferenceContext& context) { return InferConvolution(context, true); }

Status InferMatMul(InferenceContext& context) {
  const ValueType& a = context.input(0);
  const ValueType& b = context.input(1);
  if (!a.ranked || !b.ranked) return context.OutputUnranked(a.dtype);
  if (a.dims.empty() || b.dims.empty())
    return Error(StatusCode::kModel, "A and B must have at least rank 1, got a scalar");
  const bool row = a.dims.size() == 1, column = b.dims.size() == 1;
  const int64_t inner_a = a.dims.back(), inner_b = column ? b.dims[0] : b.dims[b.dims.size() - 2];
  if (!MergeDim(inner_a, inner_b).ok())
    return Error(StatusCode::kModel,
                 "shapes {} and {} are incompatible for matrix multiplication: inner extents {} and {} differ",
                 ShapeToString(a.dims), ShapeToString(b.dims), inner_a, inner_b);
  const std::span<const int64_t> all_a = a.dims, all_b = b.dims;
  DEPUTY_ASSIGN_OR_RETURN(std::vector<int64_t> dims, BroadcastDims(all_a.first(row ? 0 : all_a.size() - 2),
                                                                   all_b.first(column ? 0 : all_b.size() - 2)));
  if (!row) dims.push_back(a.dims[a.dims.size() - 2]);
  if (!column) dims.push_back(b.dims.back());
  return context.Output(a.dtype, std::move(dims));
}

Status InferGemm(InferenceContext& context) {
  const ValueType& a = context.input(0);
  const ValueType& b = context.input(1);
  for (const ValueType* type : {&a, &b})
    if (type->ranked && type->dims.size() != 2)
      return Error(StatusCode::kModel, "A and B must have rank 2, got rank {}", type->dims.size());
  const bool transpose_a = context.primitive().GetInt("transA", 0) != 0;
  const bool transpose_b = context.primitive().GetInt("transB", 0) != 0;
  const int64_t m = DimOf(a, transpose_a ? 1 : 0), n = DimOf(b, transpose_b ? 0 : 1);
  const int64_t inner_a = DimOf(a, transpose_a ? 0 : 1), inner_b = DimOf(b, transpose_b ? 1 : 0);
  if (!MergeDim(inner_a, inner_b).ok())
    return Error(StatusCode::kModel, "A has {} columns after transA, but B has {} rows after transB", inner_a, inner_b);
  if (context.has_input(2) && context.input(2).ranked) {
    const std::vector<int64_t> product = {m, n};
    const Result<std::vector<int64_t>> sum = BroadcastDims(product, context.input(2).dims);
    // An unknown extent may still fit.
    const auto same = [&](size_t i) { return product[i] < 0 || (*sum)[i] < 0 || (*sum)[i] == product[i]; };
    const bool fits = sum.ok() && sum->size() == 2 && same(0) && same(1);
    if (!fits)
      return Error(StatusCode::kModel, "C with shape {} cannot be broadcast to shape {}",
                   ShapeToString(context.input(2).dims), ShapeToString(product));
  }
  return context.Output(a.dtype, {m, n});
}

Status InferBatchNormalization(InferenceContext& context) {
  DEPUTY_RETURN_IF_ERROR(SameAsInput(context, 1));
  const ValueType& x = context.input(0);
  const int64_t channels = !x.ranked ? kUnknownDim : x.dims.size() < 2 ? 1 : x.dims[1];
  // Up to the definition of opset 8 the parameters may be one per element.
  const bool by_channel = context.primitive().GetInt("spatial", 1) != 0;
  const int64_t elements = x.ranked && x.dims.size() > 1 ? CountOf(std::span(x.dims).subspan(1)) : channels;
  static constexpr const char* kNames[] = {"", "scale", "bias", "mean", "variance"};
  for (size_t i = 1; i <= 4; ++i)
    DEPUTY_RETURN_IF_ERROR(by_channel ? CheckVector(context, i, channels, kNames[i])
                                      : CheckElements(context, i, elements, kNames[i]));
  // The mean and the variance have the dtypes of those that they are mixed with.
  for (size_t i = 1; i < context.output_count(); ++i) {
    const size_t mixed = context.input_count() > i + 2 ? i + 2 : context.input_count() > 3 ? 3 : 0;
    context.SetOutput(i, context.input(mixed).dtype, {channels});
  }
  return Status();
}

Status InferInstanceNormalization(InferenceContext& context) {
  const ValueType& x = context.input(0);
  DEPUTY_RETURN_IF_ERROR(SameAsInput(context, 3));
  DEPUTY_RETURN_IF_ERROR(CheckVector(context, 1, DimOf(x, 1), "scale"));
  return CheckVector(context, 2, DimOf(x, 1), "bias");
}

Status InferLayerNormalization(InferenceContext& context) {
  const ValueType& x = context.input(0);
  DEPUTY_RETURN_IF_ERROR(SameAsInput(context, 1));
  const DType statistics = static_cast<DType>(context.primitive().GetInt("stash_type", 1));
  if (statistics != DType::kFloat32 && statistics != DType::kBFloat16)
    return Error(StatusCode::kModel, "stash_type must be 1 (float32) or 16 (bfloat16), got {}",
                 static_cast<int>(statistics));
  if (!x.ranked) {
    context.SetOutputUnranked(1, statistics);
    context.SetOutputUnranked(2, statistics);
    return Status();
  }
  DEPUTY_ASSIGN_OR_RETURN(const size_t axis,
                          context.NormalizeAxis(context.primitive().GetInt("axis", -1), x.dims.size()));
  std::vector<int64_t> dims = x.dims;
  DEPUTY_RETURN_IF_ERROR(CheckBroadcastsTo(context, 1, std::span(x.dims).subspan(axis), "Scale"));
  DEPUTY_RETURN_IF_ERROR(CheckBroadcastsTo(context, 2, std::span(x.dims).subspan(axis), "B"));
  std::fill(dims.begin() + static_cast<ptrdiff_t>(axis), dims.end(), 1);
  context.SetOutput(1, statistics, dims);
  context.SetOutput(2, statistics, std::move(dims));
  return Status();
}

Status InferLRN(InferenceContext& context) {
  if (context.primitive().GetInt("size", 0) < 1)
    return Error(StatusCode::kModel, "size must be at least 1, got {}", context.primitive().GetInt("size", 0));
  return SameAsInput(context, 2);
}

Status InferRMSNormalization(InferenceContext& context) {
  const ValueType& x = context.input(0);
  DEPUTY_RETURN_IF_ERROR(SameAsInput(context, 1));
  if (!x.ranked) return Status();
  DEPUTY_ASSIGN_OR_RETURN(const size_t axis,
                          context.NormalizeAxis(context.primitive().GetInt("axis", -1), x.dims.size()));
  return CheckBroadcastsTo(context, 1, std::span(x.dims).subspan(axis), "scale");
}

Status InferLpNormalization(InferenceContext& context) {
  const ValueType& x = context.input(0);
  DEPUTY_RETURN_IF_ERROR(SameAsInput(context, 1));
  return !x.ranked ? Status() : context.NormalizeAxis(context.primitive().GetInt("axis", -1), x.dims.size()).status();
}

Status InferMeanVarianceNormalization(InferenceContext& context) {
  static constexpr int64_t kAxes[] = {0, 2, 3};
  const ValueType& x = context.input(0);
  DEPUTY_RETURN_IF_ERROR(SameAsInput(context, 1));
  if (!x.ranked) return Status();
  // An axis that is named twice is averaged over once.
  for (const int64_t axis : context.primitive().Has("axes") ? context.primitive().GetInts("axes") : std::span(kAxes))
    DEPUTY_RETURN_IF_ERROR(context.NormalizeAxis(axis, x.dims.size()).status());
  return Status();
}

Status InferGroupNormalization(InferenceContext& context) {
  DEPUTY_RETURN_IF_ERROR(SameAsInput(context, 2));
  const int64_t groups = context.primitive().GetInt("num_groups", 0), channels = DimOf(context.input(0), 1);
  if (groups < 1 || (channels >= 0 && channels % groups != 0))
    return Error(StatusCode::kModel, "{} channels are not divisible by num_groups ({})", channels, groups);
  const int64_t wanted = context.primitive().since_version() < 21 ? groups : channels;
  DEPUTY_RETURN_IF_ERROR(CheckVector(context, 1, wanted, "scale"));
  return CheckVector(context, 2, wanted, "bias");
}

Status InferNegativeLogLikelihoodLoss(InferenceContext& context) { return InferLoss(context); }

Status InferSoftmaxCrossEntropyLoss(InferenceContext& context) {
  context.SetOutput(1, context.input(0));
  return InferLoss(context);
}

}  // namespace deputy::host
