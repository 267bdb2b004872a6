// Inference of the operators that move elements without computing: Concat, Slice, Split, Pad, Tile, Transpose, the two
// block rearrangements and Trilu.
#include <algorithm>

#include "base/checked.hpp"
#include "graph/inference/functions.hpp"
#include "graph/inference/operands.hpp"
#include "graph/inference/slicing.hpp"

namespace deputy::host {

Status InferConcat(InferenceContext& context) {
  // Only Concat-1 has a default.
  if (!context.primitive().Has("axis") && context.primitive().since_version() >= 4)
    return Error(StatusCode::kModel, "attribute 'axis' is missing");
  const DType dtype = context.input(0).dtype;
  std::optional<size_t> rank;
  bool all_ranked = true;
  for (size_t i = 0; i < context.input_count(); ++i) {
    if (!context.has_input(i)) return Error(StatusCode::kModel, "input {} is missing", i);
    const ValueType& input = context.input(i);
    if (dtype != DType::kUndefined && input.dtype != DType::kUndefined && input.dtype != dtype)
      return Error(StatusCode::kModel, "cannot concatenate dtypes {} and {}", NameOf(dtype), NameOf(input.dtype));
    all_ranked = all_ranked && input.ranked;
    if (!input.ranked) continue;
    if (rank && *rank != input.dims.size())
      return Error(StatusCode::kModel, "cannot concatenate tensors of rank {} and {}", *rank, input.dims.size());
    rank = input.dims.size();
  }
  if (!rank) return context.OutputUnranked(dtype);
  DEPUTY_ASSIGN_OR_RETURN(const size_t axis, context.NormalizeAxis(context.primitive().GetInt("axis", 1), *rank));
  std::vector<int64_t> dims = UnknownDims(*rank);
  std::optional<int64_t> joined = 0;
  for (size_t i = 0; i < context.input_count(); ++i) {
    const ValueType& input = context.input(i);
    if (!input.ranked) continue;
    for (size_t d = 0; d < *rank; ++d) {
      if (d == axis) continue;
      Result<int64_t> merged = MergeDim(dims[d], input.dims[d]);
      if (!merged.ok())
        return Error(StatusCode::kModel, "cannot concatenate shapes {} and {} along axis {}", ShapeToString(dims),
                     ShapeToString(input.dims), axis);
      dims[d] = *merged;
    }
    if (input.dims[axis] < 0) joined.reset();
    if (!joined) continue;
    joined = CheckedAdd(*joined, input.dims[axis]);
    if (!joined) return Error(StatusCode::kModel, "the concatenated extent overflows");
  }
  if (all_ranked && joined) dims[axis] = *joined;
  if (context.input_count() == 1) dims[axis] = context.input(0).dims[axis];
  return context.Output(dtype, std::move(dims));
}

Status InferSlice(InferenceContext& context) {
  const ValueType& input = context.input(0);
  DEPUTY_ASSIGN_OR_RETURN(const IntList starts, ReadIntList(context, 1, "starts"));
  DEPUTY_ASSIGN_OR_RETURN(const IntList ends, ReadIntList(context, 2, "ends"));
  if (starts.count && *starts.count > kMostAxes)
    return Error(StatusCode::kModel, "starts has {} elements, expected at most {}", *starts.count, kMostAxes);
  IntList axes, steps;
  if (context.has_input(3)) {
    DEPUTY_ASSIGN_OR_RETURN(axes, ReadIntList(context, 3, "axes"));
  } else if (starts.count) {
    axes.values.emplace();
    for (size_t i = 0; i < *starts.count; ++i) axes.values->push_back(static_cast<int64_t>(i));
    axes.count = starts.count;
  }
  if (context.has_input(4)) {
    DEPUTY_ASSIGN_OR_RETURN(steps, ReadIntList(context, 4, "steps"));
  } else if (starts.count) {
    steps.elements.assign(*starts.count, KnownInt(1));
    steps.count = starts.count;
  }
  if (!input.ranked) return context.OutputUnranked(input.dtype);
  for (const std::optional<size_t>& count : {ends.count, axes.count, steps.count})
    if (starts.count && count && *count != *starts.count)
      return Error(StatusCode::kModel, "starts, ends, axes and steps must have the same length");
  if (!axes.values) return context.Output(input.dtype, UnknownDims(input.dims.size()));
  DEPUTY_ASSIGN_OR_RETURN(const std::vector<size_t> sliced, NormalizeAxes(context, *axes.values, input.dims.size()));
  std::vector<int64_t> dims = input.dims;
  for (size_t i = 0; i < sliced.size(); ++i) {
    int64_t& extent = dims[sliced[i]];
    const auto element = [i](const IntList& list) {
      return i < list.elements.size() ? list.elements[i] : PartialInt();
    };
    const PartialInt from = element(starts), to = element(ends), by = element(steps);
    if (from == KnownInt(0) && by == KnownInt(1) && to.is_symbol() && to.value == extent) continue;
    if (!from.known || !to.known || !by.known) {
      extent = kUnknownDim;
      continue;
    }
    const int64_t start = from.value, end = to.value, step = by.value;
    if (step == 0) return Error(StatusCode::kModel, "the step along axis {} must not be 0", sliced[i]);
    if (extent >= 0) {
      extent = ResolveSlice(start, end, step, extent).count;
    } else if (!(step == 1 && start == 0 && end >= INT32_MAX)) {  // the whole axis: the symbol stays
      extent = kUnknownDim;
    }
  }
  return context.Output(input.dtype, std::move(dims));
}

Status InferSplit(InferenceContext& context) {
  const ValueType& input = context.input(0);
  const int64_t parts = static_cast<int64_t>(context.output_count());
  const int64_t asked = context.primitive().GetInt("num_outputs", parts);
  if (asked != parts) return Error(StatusCode::kModel, "num_outputs is {}, but there are {} outputs", asked, parts);
  if (const bool has_count = context.primitive().Has("num_outputs");
      context.primitive().since_version() >= 18 && has_count == context.has_input(1))
    return Error(StatusCode::kModel, "needs either input 1 ('split') or attribute 'num_outputs', got {}",
                 has_count ? "both" : "neither");
  IntList sizes;
  if (context.has_input(1)) {
    DEPUTY_ASSIGN_OR_RETURN(sizes, ReadIntList(context, 1, "split"));
    if (sizes.count && static_cast<int64_t>(*sizes.count) != parts)
      return Error(StatusCode::kModel, "input 'split' has {} sizes for {} outputs", *sizes.count, parts);
  }
  if (!input.ranked) {
    for (size_t i = 0; i < context.output_count(); ++i) context.SetOutputUnranked(i, input.dtype);
    return {};
  }
  DEPUTY_ASSIGN_OR_RETURN(const size_t axis,
                          context.NormalizeAxis(context.primitive().GetInt("axis", 0), input.dims.size()));
  const int64_t extent = input.dims[axis];
  if (sizes.values) {
    int64_t sum = 0;
    for (const int64_t size : *sizes.values)
      if (size < 0 || __builtin_add_overflow(sum, size, &sum))
        return Error(StatusCode::kModel, "split sizes must not be negative or overflow, got {}", size);
    if (extent >= 0 && sum != extent)
      return Error(StatusCode::kModel, "the split sizes add up to {}, expected the extent {}", sum, extent);
  } else if (!context.has_input(1) && context.primitive().since_version() < 18 && extent >= 0 && extent % parts != 0) {
    return Error(StatusCode::kModel, "an extent of {} cannot be split into {} equal parts", extent, parts);
  }
  for (size_t i = 0; i < context.output_count(); ++i) {
    std::vector<int64_t> dims = input.dims;
    if (sizes.values) {
      dims[axis] = (*sizes.values)[i];
    } else if (context.has_input(1) || extent < 0) {
      dims[axis] = parts == 1 ? extent : kUnknownDim;
    } else {
      dims[axis] = SplitPart(extent, parts, static_cast<int64_t>(i));
    }
    context.SetOutput(i, input.dtype, std::move(dims));
  }
  return {};
}

Status InferPad(InferenceContext& context) {
  const ValueType& input = context.input(0);
  DEPUTY_ASSIGN_OR_RETURN(const PadMode mode, PadModeOf(context.primitive().GetString("mode", "constant")));
  DEPUTY_ASSIGN_OR_RETURN(const IntList pads, ReadIntList(context, 1, "pads"));
  IntList axes;
  if (context.has_input(3)) {
    DEPUTY_ASSIGN_OR_RETURN(axes, ReadIntList(context, 3, "axes"));
  }
  DEPUTY_RETURN_IF_ERROR(CheckOneElement(context, 2, "constant_value"));
  if (!input.ranked) return context.OutputUnranked(input.dtype);
  const size_t rank = input.dims.size();
  std::vector<size_t> padded;
  if (!context.has_input(3)) {
    for (size_t i = 0; i < rank; ++i) padded.push_back(i);
  } else if (axes.values) {
    DEPUTY_ASSIGN_OR_RETURN(padded, NormalizeAxes(context, *axes.values, rank));
  }
  if (!pads.values || (context.has_input(3) && !axes.values)) return context.Output(input.dtype, UnknownDims(rank));
  if (pads.values->size() != 2 * padded.size())
    return Error(StatusCode::kModel, "pads has {} values for {} axes, expected 2 per axis", pads.values->size(),
                 padded.size());
  std::vector<int64_t> dims = input.dims;
  for (size_t i = 0; i < padded.size(); ++i) {
    const int64_t before = (*pads.values)[i], after = (*pads.values)[i + padded.size()];
    if (before == 0 && after == 0) continue;
    int64_t& extent = dims[padded[i]];
    if (extent < 0) {
      extent = kUnknownDim;
      continue;
    }
    DEPUTY_ASSIGN_OR_RETURN(const PadRange range, ResolvePad(before, after, extent));
    if (mode != PadMode::kConstant && range.kept == 0 && range.total != 0)
      return Error(StatusCode::kModel, "axis {} of shape {} has no elements to pad from", padded[i],
                   ShapeToString(input.dims));
    extent = range.total;
  }
  return context.Output(input.dtype, std::move(dims));
}

Status InferTile(InferenceContext& context) {
  const ValueType& input = context.input(0);
  DEPUTY_ASSIGN_OR_RETURN(const IntList repeats, ReadIntList(context, 1, "repeats"));
  if (!input.ranked) {
    if (repeats.count) {
      context.SetOutput(0, input.dtype, UnknownDims(*repeats.count));
    } else {
      context.SetOutputUnranked(0, input.dtype);
    }
    return {};
  }
  if (repeats.count && *repeats.count != input.dims.size())
    return Error(StatusCode::kModel, "repeats has {} values for an input of rank {}", *repeats.count,
                 input.dims.size());
  std::vector<int64_t> dims = input.dims;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i >= repeats.elements.size() || !repeats.elements[i].known) {
      dims[i] = kUnknownDim;
      continue;
    }
    const int64_t repeat = repeats.elements[i].value;
    if (repeat < 0 || (dims[i] >= 0 && !CheckedMultiply(dims[i], repeat)))
      return Error(StatusCode::kModel, "an extent of {} cannot be repeated {} times: negative or overflow", dims[i],
                   repeat);
    if (repeat != 1) dims[i] = repeat == 0 ? 0 : dims[i] >= 0 ? dims[i] * repeat : kUnknownDim;
  }
  return context.Output(input.dtype, std::move(dims));
}

Status InferTranspose(InferenceContext& context) {
  const ValueType& input = context.input(0);
  const std::span<const int64_t> perm = context.primitive().GetInts("perm");
  const bool reversed = !context.primitive().Has("perm");
  if (!input.ranked) {
    if (reversed) return context.OutputUnranked(input.dtype);
    DEPUTY_RETURN_IF_ERROR(NormalizeAxes(context, perm, perm.size()).status());
    return context.Output(input.dtype, UnknownDims(perm.size()));
  }
  if (reversed) return context.Output(input.dtype, std::vector<int64_t>(input.dims.rbegin(), input.dims.rend()));
  if (perm.size() != input.dims.size())
    return Error(StatusCode::kModel, "perm {} does not match the rank of shape {}", ShapeToString(perm),
                 ShapeToString(input.dims));
  // Negative axes are not in the specification, but exporters write them.
  DEPUTY_ASSIGN_OR_RETURN(const std::vector<size_t> axes, NormalizeAxes(context, perm, input.dims.size()));
  std::vector<int64_t> dims;
  for (const size_t axis : axes) dims.push_back(input.dims[axis]);
  return context.Output(input.dtype, std::move(dims));
}

namespace {

// Shared by the two directions: the input's dims when it is [N, C, H, W], and the block size.
Result<int64_t> BlockSize(const InferenceContext& context) {
  const int64_t block = context.primitive().GetInt("blocksize", 0);
  if (block <= 0 || block > 1 << 20)
    return Error(StatusCode::kModel, "blocksize must be between 1 and 1048576, got {}", block);
  const ValueType& input = context.input(0);
  if (input.ranked && input.dims.size() != 4)
    return Error(StatusCode::kModel, "input has shape {}, expected [N,C,H,W]", ShapeToString(input.dims));
  return block;
}

Result<int64_t> Grow(int64_t extent, int64_t factor) {
  if (factor == 1) return extent;
  if (extent < 0) return kUnknownDim;
  const std::optional<int64_t> grown = CheckedMultiply(extent, factor);
  if (!grown) return Error(StatusCode::kModel, "an extent of {} multiplied by {} overflows", extent, factor);
  return *grown;
}

Result<int64_t> Shrink(int64_t extent, int64_t factor) {
  if (factor == 1) return extent;
  if (extent < 0) return kUnknownDim;
  if (extent % factor != 0) return Error(StatusCode::kModel, "an extent of {} is not a multiple of {}", extent, factor);
  return extent / factor;
}

}  // namespace

Status InferDepthToSpace(InferenceContext& context) {
  const std::string_view mode = context.primitive().GetString("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") return Error(StatusCode::kModel, "mode must be DCR or CRD, got '{}'", mode);
  DEPUTY_ASSIGN_OR_RETURN(const int64_t block, BlockSize(context));
  const ValueType& input = context.input(0);
  std::vector<int64_t> dims = input.ranked ? input.dims : UnknownDims(4);
  DEPUTY_ASSIGN_OR_RETURN(dims[1], Shrink(dims[1], block * block));
  DEPUTY_ASSIGN_OR_RETURN(dims[2], Grow(dims[2], block));
  DEPUTY_ASSIGN_OR_RETURN(dims[3], Grow(dims[3], block));
  return context.Output(input.dtype, std::move(dims));
}

Status InferSpaceToDepth(InferenceContext& context) {
  DEPUTY_ASSIGN_OR_RETURN(const int64_t block, BlockSize(context));
  const ValueType& input = context.input(0);
  std::vector<int64_t> dims = input.ranked ? input.dims : UnknownDims(4);
  DEPUTY_ASSIGN_OR_RETURN(dims[1], Grow(dims[1], block * block));
  DEPUTY_ASSIGN_OR_RETURN(dims[2], Shrink(dims[2], block));
  DEPUTY_ASSIGN_OR_RETURN(dims[3], Shrink(dims[3], block));
  return context.Output(input.dtype, std::move(dims));
}

Status InferTrilu(InferenceContext& context) {
  const ValueType& input = context.input(0);
  DEPUTY_RETURN_IF_ERROR(CheckOneElement(context, 1, "k"));
  if (input.ranked && input.dims.size() < 2)
    return Error(StatusCode::kModel, "input must have at least rank 2, got shape {}", ShapeToString(input.dims));
  return context.Output(input);
}

}  // namespace deputy::host
