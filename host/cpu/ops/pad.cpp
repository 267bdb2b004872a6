// CPU kernel of Pad. With a constant, the output is filled before the input is copied to its position; the other modes
// read each element through a map per axis.
#include <algorithm>
#include <cstring>

#include "cpu/ops/function_kernel.hpp"
#include "graph/inference/slicing.hpp"
#include "kernels/copy.hpp"
#include "tensor/shape.hpp"

namespace deputy::host {
namespace {

// The padding of every axis, from the inputs `pads` and `axes`.
struct Padding {
  SmallDims before, first, kept, total;
};

Result<Padding> ReadPadding(const KernelArgs& args) {
  const ConstView input = args.input(0);
  DEPUTY_ASSIGN_OR_RETURN(const SmallDims pads, ReadInts(args.input(1), "pads"));
  SmallDims axes;
  if (args.input(3).present()) {
    DEPUTY_ASSIGN_OR_RETURN(axes, ReadInts(args.input(3), "axes"));
  } else {
    for (size_t d = 0; d < input.rank(); ++d) axes.push_back(static_cast<int64_t>(d));
  }
  if (pads.size() != 2 * axes.size())
    return Error(StatusCode::kInvalidArgument, "pads has {} elements for {} axes", pads.size(), axes.size());
  Padding padding{SmallDims(input.rank(), 0), SmallDims(input.rank(), 0), SmallDims(input.dims()),
                  SmallDims(input.dims())};
  for (size_t i = 0; i < axes.size(); ++i) {
    DEPUTY_ASSIGN_OR_RETURN(const size_t axis, ResolveAxis(axes[i], input.rank()));
    Result<PadRange> range = ResolvePad(pads[i], pads[i + axes.size()], input.dim(axis));
    if (!range.ok()) return std::move(range).status().WithCode(StatusCode::kInvalidArgument);
    padding.before[axis] = std::max<int64_t>(range->before, 0);
    padding.first[axis] = range->first;
    padding.kept[axis] = range->kept;
    padding.total[axis] = range->total;
  }
  return padding;
}

Status PadConstant(const KernelArgs& args, const Padding& padding, size_t element) {
  const ConstView input = args.input(0);
  const MutableView output = args.output(0);
  uint64_t bits = 0;
  if (const ConstView value = args.input(2); value.present()) {
    DEPUTY_RETURN_IF_ERROR(ElementBytes(value).status());
    if (value.dtype() != input.dtype() || value.element_count() != 1)
      return Error(StatusCode::kInvalidArgument, "constant_value must be a scalar of dtype {}", NameOf(input.dtype()));
    std::memcpy(&bits, value.data<char>(), element);
  }
  if (output.byte_size() == 0) return {};
  const SmallDims input_strides = DenseStrides(input.dims()), output_strides = DenseStrides(padding.total);
  StridedCopy copy;
  int64_t from = 0, to = 0;
  bool empty = false;
  for (size_t d = 0; d < input.rank(); ++d) {
    copy.Add(padding.kept[d], input_strides[d], output_strides[d]);
    from += padding.first[d] * input_strides[d];
    to += padding.before[d] * output_strides[d];
    empty = empty || padding.kept[d] == 0;
  }
  if (ElementCount(padding.kept) != output.element_count())
    Fill(&bits, output.data<char>(), output.element_count(), element, args.pool);
  if (empty) return {};
  CopyStrided(copy, input.data<char>() + static_cast<size_t>(from) * element,
              output.data<char>() + static_cast<size_t>(to) * element, element, args.pool);
  return {};
}

Status PadFromSelf(const KernelArgs& args, const Padding& padding, size_t element, PadSource source) {
  const ConstView input = args.input(0);
  const MutableView output = args.output(0);
  if (output.byte_size() == 0) return {};
  if (input.rank() == 0) return CopyElements(args);
  int64_t length = 0;
  for (size_t d = 0; d < input.rank(); ++d) {
    if (padding.kept[d] == 0)
      return Error(StatusCode::kInvalidArgument, "axis {} of shape {} is empty and cannot be padded in this mode", d,
                   ShapeToString(input.dims()));
    length += padding.total[d];
  }
  DEPUTY_ASSIGN_OR_RETURN(void* const memory, args.scratch.Get(static_cast<size_t>(length) * sizeof(int64_t)));
  int64_t* const maps = static_cast<int64_t*>(memory);
  int64_t* map = maps;
  for (size_t d = 0; d < input.rank(); ++d) {
    const size_t total = static_cast<size_t>(padding.total[d]);
    MapPadding(source, padding.before[d], padding.first[d], padding.kept[d], {map, total});
    map += total;
  }
  PadByMaps(input.dims(), padding.total, maps, input.data<char>(), output.data<char>(), element, args.pool);
  return {};
}

Status RunPad(const KernelArgs& args, PadMode mode) {
  DEPUTY_ASSIGN_OR_RETURN(const size_t element, ElementBytes(args.input(0)));
  DEPUTY_ASSIGN_OR_RETURN(const Padding padding, ReadPadding(args));
  DEPUTY_RETURN_IF_ERROR(CheckOutput(args.output(0), args.input(0).dtype(), padding.total));
  switch (mode) {
    case PadMode::kConstant: return PadConstant(args, padding, element);
    case PadMode::kReflect: return PadFromSelf(args, padding, element, PadSource::kReflect);
    case PadMode::kEdge: return PadFromSelf(args, padding, element, PadSource::kEdge);
    case PadMode::kWrap: return PadFromSelf(args, padding, element, PadSource::kWrap);
  }
  return {};
}

}  // namespace

KernelResult MakePad(const KernelSpec& spec) {
  DEPUTY_RETURN_IF_ERROR(CheckMovable(spec));
  if (IsPacked(spec.input_type(0).dtype))
    return Error(StatusCode::kNotSupported, "Pad of packed {} is not supported", NameOf(spec.input_type(0).dtype));
  DEPUTY_ASSIGN_OR_RETURN(const PadMode mode, PadModeOf(spec.primitive().GetString("mode", "constant")));
  return KernelOf([mode](const KernelArgs& args) { return RunPad(args, mode); });
}

}  // namespace deputy::host
