// Inference of the operators of signal processing: Fourier transforms, windows, mel weights.
#include <algorithm>
#include <optional>

#include "graph/inference/functions.hpp"
#include "graph/inference/operands.hpp"

namespace deputy::host {
namespace {

// The number in a scalar input, if it is known.
Result<std::optional<int64_t>> KnownInt(const InferenceContext& context, size_t i, const char* name) {
  const Tensor* known = context.constant(i);
  if (known == nullptr) return std::optional<int64_t>();
  DEPUTY_ASSIGN_OR_RETURN(const int64_t value, IntOf(*known, name));
  return std::optional<int64_t>(value);
}

Result<DType> TypeNamed(const InferenceContext& context) {
  const int64_t number = context.primitive().GetInt("output_datatype", 1);
  if (number < 1 || number > 31 || SizeOf(static_cast<DType>(number)) == 0)
    return UnsupportedElementType("output_datatype", number);
  return static_cast<DType>(number);
}

Status InferWindowFunction(InferenceContext& context) {
  DEPUTY_ASSIGN_OR_RETURN(const DType dtype, TypeNamed(context));
  DEPUTY_RETURN_IF_ERROR(CheckOneElement(context, 0, "size"));
  DEPUTY_ASSIGN_OR_RETURN(const std::optional<int64_t> size, KnownInt(context, 0, "size"));
  if (size && *size < 0) return Error(StatusCode::kModel, "size must not be negative, got {}", *size);
  return context.Output(dtype, {size.value_or(kUnknownDim)});
}

int64_t Bins(int64_t length, bool onesided) { return length < 0 ? kUnknownDim : onesided ? length / 2 + 1 : length; }

}  // namespace

Status InferHannWindow(InferenceContext& context) { return InferWindowFunction(context); }
Status InferHammingWindow(InferenceContext& context) { return InferWindowFunction(context); }
Status InferBlackmanWindow(InferenceContext& context) { return InferWindowFunction(context); }

Status InferMelWeightMatrix(InferenceContext& context) {
  DEPUTY_ASSIGN_OR_RETURN(const DType dtype, TypeNamed(context));
  static constexpr const char* kNames[] = {"num_mel_bins", "dft_length", "sample_rate", "lower_edge_hertz",
                                           "upper_edge_hertz"};
  for (size_t i = 0; i < 5; ++i) DEPUTY_RETURN_IF_ERROR(CheckOneElement(context, i, kNames[i]));
  DEPUTY_ASSIGN_OR_RETURN(const std::optional<int64_t> bins, KnownInt(context, 0, "num_mel_bins"));
  DEPUTY_ASSIGN_OR_RETURN(const std::optional<int64_t> length, KnownInt(context, 1, "dft_length"));
  if ((bins && *bins < 0) || (length && *length < 0))
    return Error(StatusCode::kModel, "num_mel_bins ({}) and dft_length ({}) must not be negative", bins.value_or(0),
                 length.value_or(0));
  return context.Output(dtype, {Bins(length.value_or(kUnknownDim), true), bins.value_or(kUnknownDim)});
}

Status InferDFT(InferenceContext& context) {
  const ValueType& input = context.input(0);
  const Primitive& primitive = context.primitive();
  DEPUTY_RETURN_IF_ERROR(CheckOneElement(context, 1, "dft_length"));
  DEPUTY_RETURN_IF_ERROR(CheckOneElement(context, 2, "axis"));
  DEPUTY_ASSIGN_OR_RETURN(const std::optional<int64_t> length, KnownInt(context, 1, "dft_length"));
  if (length && *length < 1) return Error(StatusCode::kModel, "dft_length must be at least 1, got {}", *length);
  std::optional<int64_t> named = primitive.since_version() < 20 ? primitive.GetInt("axis", 1) : -2;
  if (primitive.since_version() >= 20 && context.has_input(2)) {
    DEPUTY_ASSIGN_OR_RETURN(named, KnownInt(context, 2, "axis"));
  }
  if (!input.ranked) return context.OutputUnranked(input.dtype);
  std::vector<int64_t> dims = input.dims;
  if (dims.size() < 2) return Error(StatusCode::kModel, "input has rank {}, expected at least 2", dims.size());
  if (dims.back() == 0 || dims.back() > 2)
    return Error(StatusCode::kModel, "the last axis, of real and imaginary parts, has extent {}, expected 1 or 2",
                 dims.back());
  const bool inverse = primitive.GetInt("inverse", 0) != 0, onesided = primitive.GetInt("onesided", 0) != 0;
  dims.back() = inverse && onesided ? 1 : 2;
  if (!named) {
    std::fill(dims.begin(), dims.end() - 1, kUnknownDim);
  } else {
    DEPUTY_ASSIGN_OR_RETURN(const size_t axis, context.NormalizeAxis(*named, dims.size()));
    if (axis + 1 == dims.size())
      return Error(StatusCode::kModel, "axis must not be the last axis, which holds the real and imaginary parts");
    int64_t extent = length.value_or(context.has_input(1) ? kUnknownDim : dims[axis]);
    if (extent == 0 && !inverse && onesided)
      return Error(StatusCode::kModel, "axis {} of shape {} has no elements to transform", axis,
                   ShapeToString(input.dims));
    // Half of a spectrum, without the length of its signal, is that of an even one.
    if (inverse && onesided && !context.has_input(1)) extent = dims[axis] > 0 ? 2 * (dims[axis] - 1) : kUnknownDim;
    dims[axis] = Bins(extent < 0 ? kUnknownDim : extent, onesided && !inverse);
  }
  return context.Output(input.dtype, std::move(dims));
}

Status InferSTFT(InferenceContext& context) {
  const ValueType& signal = context.input(0);
  DEPUTY_RETURN_IF_ERROR(CheckOneElement(context, 1, "frame_step"));
  DEPUTY_RETURN_IF_ERROR(CheckOneElement(context, 3, "frame_length"));
  DEPUTY_ASSIGN_OR_RETURN(const std::optional<int64_t> step, KnownInt(context, 1, "frame_step"));
  DEPUTY_ASSIGN_OR_RETURN(std::optional<int64_t> length, KnownInt(context, 3, "frame_length"));
  if (!context.has_input(3) && context.has_input(2) && context.input(2).ranked && !context.input(2).dims.empty() &&
      context.input(2).dims[0] >= 0)
    length = context.input(2).dims[0];
  DEPUTY_RETURN_IF_ERROR(CheckShape(context, 2, {length.value_or(kUnknownDim)}, "window"));
  if ((step && *step < 1) || (length && *length < 1))
    return Error(StatusCode::kModel, "frame_length and frame_step must be at least 1, got {} and {}",
                 length.value_or(0), step.value_or(0));
  if (signal.ranked && signal.dims.size() != 3 && signal.dims.size() != 2)
    return Error(StatusCode::kModel, "signal has rank {}, expected 2 or 3", signal.dims.size());
  if (const int64_t numbers = DimOf(signal, 2); numbers == 0 || numbers > 2)
    return Error(StatusCode::kModel, "signal has shape {}, expected 1 or 2 numbers in its last axis",
                 ShapeToString(signal.dims));
  std::vector<int64_t> dims = {signal.ranked ? signal.dims[0] : kUnknownDim, kUnknownDim,
                               Bins(length.value_or(kUnknownDim), context.primitive().GetInt("onesided", 1) != 0), 2};
  if (signal.ranked && signal.dims[1] >= 0 && step && length) {
    if (*length > signal.dims[1])
      return Error(StatusCode::kModel, "the signal length {} is smaller than frame_length {}", signal.dims[1], *length);
    dims[1] = (signal.dims[1] - *length) / *step + 1;
  }
  return context.Output(signal.dtype, std::move(dims));
}

}  // namespace deputy::host
