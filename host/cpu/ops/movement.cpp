// CPU kernels of the operators that move elements without computing. Each converts its inputs into one or a few strided
// copies, after checking that the copies stay inside the planned memory.
#include <algorithm>
#include <cstring>
#include <vector>

#include "base/cancellation.hpp"
#include "base/checked.hpp"
#include "cpu/ops/function_kernel.hpp"
#include "graph/inference/slicing.hpp"
#include "kernels/cast.hpp"
#include "kernels/copy.hpp"
#include "tensor/shape.hpp"

namespace deputy::host {
namespace {

int64_t Product(std::span<const int64_t> dims) { return ElementCount(dims); }

// An input of a Concat: `part` along the axis of the whole, from `offset` on.
Status CheckPart(std::span<const int64_t> part, std::span<const int64_t> whole, size_t axis, int64_t offset) {
  bool fits = part.size() == whole.size();
  for (size_t d = 0; fits && d < part.size(); ++d)
    fits = d == axis ? part[d] <= whole[d] - offset : part[d] == whole[d];
  if (fits) return {};
  return Error(StatusCode::kInvalidArgument, "input {} does not fit into output {} at offset {} along axis {}",
               ShapeToString(part), ShapeToString(whole), offset, axis);
}

Status RunConcat(const KernelArgs& args, int64_t axis_attribute) {
  const MutableView output = args.output(0);
  DEPUTY_ASSIGN_OR_RETURN(const size_t element, ElementBytes(args.input(0)));
  DEPUTY_RETURN_IF_ERROR(CheckOutput(output, args.input(0).dtype(), output.dims()));
  DEPUTY_ASSIGN_OR_RETURN(const size_t axis, ResolveAxis(axis_attribute, output.rank()));
  const int64_t outer = Product(output.dims().first(axis)), inner = Product(output.dims().subspan(axis + 1));
  const int64_t row = output.dim(axis) * inner;
  int64_t offset = 0;
  for (size_t i = 0; i < args.inputs.size(); ++i) {
    const ConstView input = args.input(i);
    DEPUTY_RETURN_IF_ERROR(ElementBytes(input).status());
    if (input.dtype() != output.dtype())
      return Error(StatusCode::kInvalidArgument, "inputs have different dtypes, {} and {}", NameOf(output.dtype()),
                   NameOf(input.dtype()));
    DEPUTY_RETURN_IF_ERROR(CheckPart(input.dims(), output.dims(), axis, offset));
    StridedCopy copy;
    copy.Add(outer, input.dim(axis) * inner, row);
    copy.Add(input.dim(axis) * inner, 1, 1);
    CopyStrided(copy, input.data<char>(), output.data<char>() + static_cast<size_t>(offset * inner) * element, element,
                args.pool);
    offset += input.dim(axis);
  }
  if (offset != output.dim(axis))
    return Error(StatusCode::kInternal, "the inputs do not fill an output of shape {}", ShapeToString(output.dims()));
  return {};
}

Status RunSplit(const KernelArgs& args, int64_t axis_attribute) {
  const ConstView input = args.input(0);
  DEPUTY_ASSIGN_OR_RETURN(const size_t element, ElementBytes(input));
  DEPUTY_ASSIGN_OR_RETURN(const size_t axis, ResolveAxis(axis_attribute, input.rank()));
  const int64_t parts = static_cast<int64_t>(args.outputs.size());
  SmallDims sizes;
  if (args.input(1).present()) {
    DEPUTY_ASSIGN_OR_RETURN(sizes, ReadInts(args.input(1), "split"));
  } else {
    for (int64_t i = 0; i < parts; ++i) sizes.push_back(SplitPart(input.dim(axis), parts, i));
  }
  if (static_cast<int64_t>(sizes.size()) != parts)
    return Error(StatusCode::kInvalidArgument, "split has {} elements, expected {}", sizes.size(), parts);
  const int64_t outer = Product(input.dims().first(axis)), inner = Product(input.dims().subspan(axis + 1));
  SmallDims dims(input.dims());
  int64_t offset = 0;
  for (size_t i = 0; i < args.outputs.size(); ++i) {
    dims[axis] = sizes[i];
    if (sizes[i] < 0 || sizes[i] > input.dim(axis) - offset)
      return Error(StatusCode::kInvalidArgument,
                   "the values of split must not be negative, and their sum not exceed the extent {}", input.dim(axis));
    const MutableView output = args.output(i);
    if (output.present()) {
      DEPUTY_RETURN_IF_ERROR(CheckOutput(output, input.dtype(), dims));
      StridedCopy copy;
      copy.Add(outer, input.dim(axis) * inner, sizes[i] * inner);
      copy.Add(sizes[i] * inner, 1, 1);
      CopyStrided(copy, input.data<char>() + static_cast<size_t>(offset * inner) * element, output.data<char>(),
                  element, args.pool);
    }
    offset += sizes[i];
  }
  return {};
}

Status RunSlice(const KernelArgs& args) {
  const ConstView input = args.input(0);
  DEPUTY_ASSIGN_OR_RETURN(const size_t element, ElementBytes(input));
  DEPUTY_ASSIGN_OR_RETURN(const SmallDims starts, ReadInts(args.input(1), "starts"));
  DEPUTY_ASSIGN_OR_RETURN(const SmallDims ends, ReadInts(args.input(2), "ends"));
  SmallDims axes, steps(starts.size(), 1);
  for (size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  if (args.input(3).present()) {
    DEPUTY_ASSIGN_OR_RETURN(axes, ReadInts(args.input(3), "axes"));
  }
  if (args.input(4).present()) {
    DEPUTY_ASSIGN_OR_RETURN(steps, ReadInts(args.input(4), "steps"));
  }
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    return Error(StatusCode::kInvalidArgument, "starts, ends, axes and steps must have the same length");

  const SmallDims strides = DenseStrides(input.dims());
  SmallDims dims(input.dims()), source_strides = strides;
  int64_t first = 0;
  for (size_t i = 0; i < starts.size(); ++i) {
    DEPUTY_ASSIGN_OR_RETURN(const size_t axis, ResolveAxis(axes[i], input.rank()));
    if (steps[i] == 0) return Error(StatusCode::kInvalidArgument, "the step along axis {} must not be 0", axis);
    if (source_strides[axis] != strides[axis] || dims[axis] != input.dim(axis))
      return Error(StatusCode::kInvalidArgument, "axis {} occurs twice in axes", axis);
    const SliceRange range = ResolveSlice(starts[i], ends[i], steps[i], input.dim(axis));
    dims[axis] = range.count;
    if (range.count > 0) first += range.start * strides[axis];
    // The step to a second element that does not exist may overflow.
    source_strides[axis] = range.count > 1 ? range.step * strides[axis] : strides[axis];
  }
  const MutableView output = args.output(0);
  DEPUTY_RETURN_IF_ERROR(CheckOutput(output, input.dtype(), dims));
  if (output.byte_size() == 0) return {};
  const StridedCopy copy{dims, source_strides, DenseStrides(dims)};
  CopyStrided(copy, input.data<char>() + static_cast<size_t>(first) * element, output.data<char>(), element, args.pool);
  return {};
}

Status RunExpand(const KernelArgs& args) {
  const ConstView input = args.input(0);
  const MutableView output = args.output(0);
  DEPUTY_ASSIGN_OR_RETURN(const size_t element, ElementBytes(input));
  DEPUTY_RETURN_IF_ERROR(CheckOutput(output, input.dtype(), output.dims()));
  const SmallDims input_strides = DenseStrides(input.dims()), output_strides = DenseStrides(output.dims());
  StridedCopy copy;
  bool fits = input.rank() <= output.rank();
  const size_t added = fits ? output.rank() - input.rank() : 0;
  for (size_t d = 0; fits && d < output.rank(); ++d) {
    const int64_t extent = d < added ? 1 : input.dim(d - added);
    fits = extent == 1 || extent == output.dim(d);
    copy.Add(output.dim(d), extent == 1 ? 0 : input_strides[d - added], output_strides[d]);
  }
  if (!fits)
    return Error(StatusCode::kInvalidArgument, "shape {} cannot be expanded to {}", ShapeToString(input.dims()),
                 ShapeToString(output.dims()));
  // The output's extents may have been known without the elements of the shape.
  DEPUTY_ASSIGN_OR_RETURN(const SmallDims target, ReadInts(args.input(1), "shape"));
  fits = target.size() <= output.rank();
  for (size_t d = 0; fits && d < target.size(); ++d) {
    const size_t axis = output.rank() - target.size() + d;
    const int64_t own = axis < added ? 1 : input.dim(axis - added);
    fits = target[d] == output.dim(axis) || (target[d] == 1 && own == output.dim(axis));
  }
  if (!fits)
    return Error(StatusCode::kInvalidArgument, "shape {} cannot be expanded to [{}]", ShapeToString(input.dims()),
                 fmt::join(target.begin(), target.end(), ","));
  CopyStrided(copy, input.data<char>(), output.data<char>(), element, args.pool);
  return {};
}

// Rows that repeat a few bytes: each is written once and then doubled. `bytes` is the repeated part of the last axis.
void RepeatRows(const ConstView& input, const MutableView& output, int64_t bytes, ThreadPool& pool) {
  const size_t last = input.rank() - 1;
  const int64_t element = bytes / input.dim(last), row_bytes = element * output.dim(last);
  const SmallDims strides = DenseStrides(input.dims());
  const int64_t rows = ElementCount(output.dims().first(last));
  pool.ParallelFor(rows, (64 << 10) / row_bytes + 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      int64_t from = 0, rest = row;
      for (size_t d = last; d-- > 0; rest /= output.dim(d)) from += rest % output.dim(d) % input.dim(d) * strides[d];
      char* const to = output.data<char>() + row * row_bytes;
      std::memcpy(to, input.data<char>() + from * element, static_cast<size_t>(bytes));
      for (int64_t done = bytes; done < row_bytes; done *= 2)
        CopyInParts(to + done, to, static_cast<size_t>(std::min(done, row_bytes - done)));
    }
  });
}

Status RunTile(const KernelArgs& args) {
  const ConstView input = args.input(0);
  const MutableView output = args.output(0);
  DEPUTY_ASSIGN_OR_RETURN(const size_t element, ElementBytes(input));
  DEPUTY_ASSIGN_OR_RETURN(const SmallDims repeats, ReadInts(args.input(1), "repeats"));
  if (repeats.size() != input.rank())
    return Error(StatusCode::kInvalidArgument, "repeats has {} elements, expected the rank of the input, {}",
                 repeats.size(), input.rank());
  SmallDims dims;
  for (size_t d = 0; d < repeats.size(); ++d) {
    const std::optional<int64_t> extent = CheckedMultiply(input.dim(d), repeats[d]);
    if (repeats[d] < 0 || !extent)
      return Error(StatusCode::kInvalidArgument, "an extent of {} cannot be repeated {} times", input.dim(d),
                   repeats[d]);
    dims.push_back(*extent);
  }
  DEPUTY_RETURN_IF_ERROR(CheckOutput(output, input.dtype(), dims));
  constexpr int64_t kShort = 64;
  const int64_t repeated = dims.empty() ? 0 : input.dims().back() * static_cast<int64_t>(element);
  if (repeated > 0 && repeated < kShort && repeats.back() > 1) {
    RepeatRows(input, output, repeated, args.pool);
    return {};
  }
  const SmallDims input_strides = DenseStrides(input.dims()), output_strides = DenseStrides(dims);
  StridedCopy copy;  // two dimensions for each: the repeat's number, and the index in it
  for (size_t d = 0; d < repeats.size(); ++d) {
    copy.Add(repeats[d], 0, input.dim(d) * output_strides[d]);
    copy.Add(input.dim(d), input_strides[d], output_strides[d]);
  }
  CopyStrided(copy, input.data<char>(), output.data<char>(), element, args.pool);
  return {};
}

Status RunTranspose(const KernelArgs& args, const SmallDims& perm_attribute, bool reversed) {
  const ConstView input = args.input(0);
  DEPUTY_RETURN_IF_ERROR(CheckStored(input));
  SmallDims perm, dims, seen(input.rank(), 0);
  for (size_t d = 0; d < input.rank(); ++d) {
    const int64_t from = static_cast<int64_t>(input.rank() - 1 - d);
    if (!reversed && perm_attribute.size() != input.rank())
      return Error(StatusCode::kInvalidArgument, "perm {} does not match the rank of input {}",
                   ShapeToString(perm_attribute), ShapeToString(input.dims()));
    DEPUTY_ASSIGN_OR_RETURN(const size_t axis, ResolveAxis(reversed ? from : perm_attribute[d], input.rank()));
    if (seen[axis]++ != 0) return Error(StatusCode::kInvalidArgument, "axis {} occurs twice in perm", axis);
    perm.push_back(static_cast<int64_t>(axis));
    dims.push_back(input.dim(axis));
  }
  DEPUTY_RETURN_IF_ERROR(CheckOutput(args.output(0), input.dtype(), dims));
  const DType dtype = input.dtype();
  char* const to = args.output(0).data<char>();
  if (!IsPacked(dtype)) {
    Transpose(input.dims(), perm, input.data<char>(), to, SizeOf(dtype), args.pool);
    return {};
  }
  const int64_t count = input.element_count();
  DEPUTY_ASSIGN_OR_RETURN(void* const memory, args.scratch.Get(2 * static_cast<size_t>(count)));
  char *const bytes = static_cast<char*>(memory), *const moved = bytes + count;
  Unpack(dtype, input.data<char>(), count, bytes);
  Transpose(input.dims(), perm, bytes, moved, 1, args.pool);
  host::Pack(dtype, moved, count, to);
  return {};
}

// [N, C, H, W] as six dimensions and permuted: both rearrangements, in both modes.
Status RunBlocks(const KernelArgs& args, std::span<const int64_t> six, std::span<const int64_t> perm,
                 std::span<const int64_t> result) {
  const ConstView input = args.input(0);
  DEPUTY_ASSIGN_OR_RETURN(const size_t element, ElementBytes(input));
  DEPUTY_RETURN_IF_ERROR(CheckOutput(args.output(0), input.dtype(), result));
  if (Product(six) != input.element_count())
    return Error(StatusCode::kInvalidArgument, "input {} is not divisible into blocks", ShapeToString(input.dims()));
  Transpose(six, perm, input.data<char>(), args.output(0).data<char>(), element, args.pool);
  return {};
}

Status RunDepthToSpace(const KernelArgs& args, int64_t b, bool column_row_depth) {
  const ConstView input = args.input(0);
  if (input.rank() != 4) return Error(StatusCode::kInvalidArgument, "input must have rank 4");
  const int64_t n = input.dim(0), c = input.dim(1) / (b * b), h = input.dim(2), w = input.dim(3);
  const int64_t result[] = {n, c, h * b, w * b};
  if (column_row_depth) return RunBlocks(args, {{n, c, b, b, h, w}}, {{0, 1, 4, 2, 5, 3}}, result);
  return RunBlocks(args, {{n, b, b, c, h, w}}, {{0, 3, 4, 1, 5, 2}}, result);
}

Status RunSpaceToDepth(const KernelArgs& args, int64_t b, bool column_row_depth) {
  const ConstView input = args.input(0);
  if (input.rank() != 4) return Error(StatusCode::kInvalidArgument, "input must have rank 4");
  const int64_t n = input.dim(0), c = input.dim(1), h = input.dim(2) / b, w = input.dim(3) / b;
  const int64_t result[] = {n, c * b * b, h, w};
  if (column_row_depth) return RunBlocks(args, {{n, c, h, b, w, b}}, {{0, 1, 3, 5, 2, 4}}, result);
  return RunBlocks(args, {{n, c, h, b, w, b}}, {{0, 3, 5, 1, 2, 4}}, result);
}

Status RunTrilu(const KernelArgs& args, bool upper) {
  const ConstView input = args.input(0);
  const MutableView output = args.output(0);
  DEPUTY_ASSIGN_OR_RETURN(const size_t element, ElementBytes(input));
  DEPUTY_RETURN_IF_ERROR(CheckOutput(output, input.dtype(), input.dims()));
  if (input.rank() < 2) return Error(StatusCode::kInvalidArgument, "input must have rank 2 or higher");
  int64_t k = 0;
  if (args.input(1).present()) {
    DEPUTY_ASSIGN_OR_RETURN(const SmallDims diagonal, ReadInts(args.input(1), "k"));
    if (diagonal.size() != 1) return Error(StatusCode::kInvalidArgument, "k must have one element");
    k = diagonal[0];
  }
  const int64_t rows = input.dim(input.rank() - 2), columns = input.dim(input.rank() - 1);
  if (output.byte_size() == 0) return {};
  k = std::clamp(k, -rows, columns);  // beyond that the result is the same
  const char* from = input.data<char>();
  char* to = output.data<char>();
  args.pool.ParallelFor(input.element_count() / columns, (1 << 14) / columns + 1, [&](int64_t begin, int64_t end) {
    const auto bytes = [element](int64_t count) { return static_cast<size_t>(count) * element; };
    for (int64_t i = begin; i < end; ++i) {
      // Copies the columns from `first` on (upper) or before it (lower).
      const int64_t first = std::clamp<int64_t>(i % rows + k + (upper ? 0 : 1), 0, columns);
      const size_t row = bytes(i * columns), split = bytes(first), width = bytes(columns);
      const size_t kept = upper ? split : 0;
      CopyInParts(to + row + kept, from + row + kept, upper ? width - split : split);
      ZeroInParts(to + row + (upper ? 0 : split), upper ? split : width - split);
    }
  });
  return {};
}

Result<int64_t> BlockSize(const KernelSpec& spec) {
  const int64_t block = spec.primitive().GetInt("blocksize", 0);
  if (block <= 0 || block > 1 << 20) return Error(StatusCode::kModel, "blocksize {} must be from 1 to 2^20", block);
  return block;
}

}  // namespace

KernelResult MakeConcat(const KernelSpec& spec) {
  DEPUTY_RETURN_IF_ERROR(CheckMovable(spec));
  const int64_t axis = spec.primitive().GetInt("axis", 1);
  return KernelOf([axis](const KernelArgs& args) { return RunConcat(args, axis); });
}

KernelResult MakeSplit(const KernelSpec& spec) {
  DEPUTY_RETURN_IF_ERROR(CheckMovable(spec));
  const int64_t axis = spec.primitive().GetInt("axis", 0);
  return KernelOf([axis](const KernelArgs& args) { return RunSplit(args, axis); });
}

KernelResult MakeSlice(const KernelSpec& spec) {
  DEPUTY_RETURN_IF_ERROR(CheckMovable(spec));
  return KernelOf(RunSlice);
}

KernelResult MakeExpand(const KernelSpec& spec) {
  DEPUTY_RETURN_IF_ERROR(CheckMovable(spec));
  return KernelOf(RunExpand);
}

KernelResult MakeTile(const KernelSpec& spec) {
  DEPUTY_RETURN_IF_ERROR(CheckMovable(spec));
  return KernelOf(RunTile);
}

KernelResult MakeTranspose(const KernelSpec& spec) {
  DEPUTY_RETURN_IF_ERROR(CheckMovable(spec));
  const SmallDims perm(spec.primitive().GetInts("perm"));
  const bool reversed = !spec.primitive().Has("perm");
  return KernelOf([perm, reversed](const KernelArgs& args) { return RunTranspose(args, perm, reversed); });
}

KernelResult MakeDepthToSpace(const KernelSpec& spec) {
  DEPUTY_RETURN_IF_ERROR(CheckMovable(spec));
  DEPUTY_ASSIGN_OR_RETURN(const int64_t block, BlockSize(spec));
  const bool column_row_depth = spec.primitive().GetString("mode", "DCR") == "CRD";
  return KernelOf(
      [block, column_row_depth](const KernelArgs& args) { return RunDepthToSpace(args, block, column_row_depth); });
}

KernelResult MakeSpaceToDepth(const KernelSpec& spec) {
  DEPUTY_RETURN_IF_ERROR(CheckMovable(spec));
  DEPUTY_ASSIGN_OR_RETURN(const int64_t block, BlockSize(spec));
  // The definitions before have no such attribute.
  const bool column_row_depth =
      spec.primitive().since_version() >= 28 && spec.primitive().GetString("mode", "DCR") == "CRD";
  return KernelOf(
      [block, column_row_depth](const KernelArgs& args) { return RunSpaceToDepth(args, block, column_row_depth); });
}

KernelResult MakeTrilu(const KernelSpec& spec) {
  DEPUTY_RETURN_IF_ERROR(CheckMovable(spec));
  const bool upper = spec.primitive().GetInt("upper", 1) != 0;
  return KernelOf([upper](const KernelArgs& args) { return RunTrilu(args, upper); });
}

}  // namespace deputy::host
