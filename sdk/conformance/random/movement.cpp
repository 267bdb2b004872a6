// Operators that move elements without reading them.
#include <algorithm>
#include <limits>
#include <numeric>

#include "random/families.hpp"

namespace deputy::conformance {
namespace {

Tensor ListOf(std::vector<int64_t> values, deputy_dtype dtype) {
  Tensor list(dtype, {static_cast<int64_t>(values.size())});
  list.whole = std::move(values);
  return list;
}

void WriteTranspose(Draft& d) {
  const Dims dims = d.Shape(0, 8);
  d.In(d.Any(d.Type(), dims));
  if (!dims.empty()) d.Maybe("perm", Ints(d.Axes(dims.size(), dims.size(), false)));
}

void WriteConcat(Draft& d) {
  const deputy_dtype dtype = d.Type();
  Dims dims = d.Shape(1, 8);
  // The first definition has the default axis 1.
  const bool by_default = d.since() < 4 && dims.size() > 1 && d.Half();
  const int64_t axis = by_default ? 1 : d.Axis(dims.size());
  if (!by_default) d.Set("axis", Int(axis));
  const size_t at = reference::FromFront(axis, dims.size());
  const int64_t count = d.Between(1, 5);
  for (int64_t i = 0; i < count; ++i) {
    dims[at] = d.Between(d.Once(8) ? 0 : 1, 4);
    d.In(d.Any(dtype, dims));
  }
}

void WriteSplit(Draft& d) {
  const deputy_dtype dtype = d.Type();
  Dims dims = d.FullShape(1, 8);
  const int64_t axis = d.Axis(dims.size());
  const size_t at = reference::FromFront(axis, dims.size());
  const int64_t parts = d.Between(1, 4);
  const bool sized = d.Half();
  std::vector<int64_t> sizes;
  for (int64_t i = 0; i < parts; ++i) sizes.push_back(d.Between(d.Once(8) ? 0 : 1, 3));
  const int64_t each = d.Between(1, 3);
  if (sized)
    dims[at] = std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
  else
    dims[at] = each * parts;
  // The last part may be smaller, but is not empty.
  if (!sized && d.since() >= 18 && d.Half()) dims[at] -= d.Between(0, each - 1);
  d.In(d.Any(dtype, dims)).Outputs(static_cast<size_t>(parts));
  if (axis != 0 || d.Half()) d.Set("axis", Int(axis));
  if (sized && d.since() >= 13)
    d.In(Whole(sizes));
  else if (sized)
    d.Set("split", Ints(sizes));
  else if (d.since() >= 18)
    d.Set("num_outputs", Int(parts));
}

void WriteSlice(Draft& d) {
  const Dims dims = d.Shape(1, 8);
  const auto rank = dims.size();
  const bool named = d.Half();
  const auto count = static_cast<size_t>(d.Between(d.Once(8) ? 0 : 1, static_cast<int64_t>(std::min<size_t>(rank, 3))));
  std::vector<int64_t> axes(count);
  std::iota(axes.begin(), axes.end(), 0);
  if (named) axes = d.Axes(rank, count, d.since() >= 10);
  const bool stepped = d.since() >= 10 && d.Half();
  const auto type = d.IndexType();
  const int64_t most = type == kI32 ? std::numeric_limits<int32_t>::max() : std::numeric_limits<int64_t>::max();
  const int64_t least = type == kI32 ? std::numeric_limits<int32_t>::min() : std::numeric_limits<int64_t>::min();
  std::vector<int64_t> starts, ends, steps;
  for (const int64_t axis : axes) {
    const int64_t extent = dims[reference::FromFront(axis, rank)];
    const int64_t step = stepped ? d.Pick<int64_t>({1, 2, 3, -1, -2, -3}) : 1;
    steps.push_back(step);
    starts.push_back(d.Once(10) ? (step > 0 ? least : most) : d.Between(-extent - 1, extent + 1));
    ends.push_back(d.Once(6) ? (step > 0 ? most : least) : d.Between(-extent - 2, extent + 2));
  }
  d.In(d.Any(d.Type(), dims));
  if (d.since() < 10) {
    d.Set("starts", Ints(starts)).Set("ends", Ints(ends));
    if (named) d.Set("axes", Ints(axes));
    return;
  }
  d.In(ListOf(starts, type)).In(ListOf(ends, type));
  if (named)
    d.In(ListOf(axes, type));
  else if (stepped)
    d.None();
  if (stepped) d.In(ListOf(steps, type));
}

void WritePad(Draft& d) {
  const deputy_dtype dtype = d.Type();
  std::vector<std::string> modes = {"constant", "constant", "reflect", "edge"};
  if (d.since() >= 19) modes.emplace_back("wrap");
  const std::string mode = d.Pick(modes);
  const Dims dims = mode == "constant" ? d.Shape(1, 8) : d.FullShape(1, 6);
  const size_t rank = dims.size();
  const bool named = d.since() >= 18 && d.Half();
  const auto count = named ? static_cast<size_t>(d.Between(1, static_cast<int64_t>(rank))) : rank;
  std::vector<int64_t> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  if (named) axes = d.Axes(rank, count, true);
  std::vector<int64_t> pads(2 * count, 0);
  for (size_t i = 0; i < count; ++i) {
    const int64_t extent = dims[reference::FromFront(axes[i], rank)];
    const int64_t most = mode == "reflect" || mode == "wrap" ? std::min<int64_t>(extent - 1, 2) : 2;
    for (const size_t at : {i, i + count})
      if (d.Half()) pads[at] = d.Between(0, std::max<int64_t>(0, most));
    if (mode == "constant" && extent > 1 && d.Once(6)) pads[d.Half() ? i : i + count] = -1;
  }
  if (mode != "constant" || d.Half()) d.Set("mode", Text(mode));
  d.In(d.Any(dtype, dims));
  if (d.since() < 11) {
    d.Set(d.since() < 2 ? "paddings" : "pads", Ints(pads)).Maybe("value", Number(d, -2, 2));
    return;
  }
  d.In(Whole(pads));
  if (d.Half())
    d.In(d.Values(dtype, {}));
  else if (named)
    d.None();
  if (named) d.In(ListOf(axes, d.IndexType()));
}

void WriteCenterCropPad(Draft& d) {
  const Dims dims = d.Shape(1, 8);
  const bool named = d.Half();
  const auto count = named ? static_cast<size_t>(d.Between(1, static_cast<int64_t>(dims.size()))) : dims.size();
  std::vector<int64_t> shape;
  for (size_t i = 0; i < count; ++i) shape.push_back(d.Between(1, dims.size() > 4 ? 3 : 6));
  d.In(d.Any(d.Type(), dims)).In(ListOf(shape, d.IndexType()));
  if (named) d.Set("axes", Ints(d.Axes(dims.size(), count, true)));
}

void WriteCrop(Draft& d) {
  std::vector<int64_t> border(4), size;
  for (int64_t& width : border) width = d.Between(0, 2);
  const int64_t height = d.Between(0, 4), width = d.Between(0, 4);
  if (d.Half()) size = {height, width};
  const Dims dims = {d.Between(1, 2), d.Between(1, 3), border[1] + height + (size.empty() ? border[3] : 1),
                     border[0] + width + (size.empty() ? border[2] : 0)};
  d.In(d.Any(d.Type(), dims)).Set("border", Ints(border));
  if (!size.empty()) d.Set("scale", Ints(size));
}

void WriteDepthToSpace(Draft& d) {
  const int64_t block = d.Between(1, 3);
  d.In(d.Any(d.Type(), {d.Between(1, 2), d.Between(1, 3) * block * block, d.Between(1, 4), d.Between(1, 4)}));
  d.Set("blocksize", Int(block)).Maybe("mode", Text(d.Half() ? "DCR" : "CRD"));
}

void WriteSpaceToDepth(Draft& d) {
  const int64_t block = d.Between(1, 3);
  d.In(d.Any(d.Type(), {d.Between(1, 2), d.Between(1, 3), d.Between(1, 3) * block, d.Between(1, 3) * block}));
  d.Set("blocksize", Int(block)).Maybe("mode", Text(d.Half() ? "CRD" : "DCR"));
}

void WriteTrilu(Draft& d) {
  const Dims dims = d.Shape(2, 8);
  d.In(d.Any(d.Type(), dims)).Maybe("upper", Int(d.Between(0, 1)));
  if (d.Half()) d.In(d.Half() ? WholeScalar(d.Between(-8, 8)) : Whole({d.Between(-8, 8)}));
}

void WriteReverseSequence(Draft& d) {
  const Dims dims = d.FullShape(2, 8);
  const int64_t time = d.Between(0, 1);
  d.In(d.Any(d.Type(), dims));
  Tensor lengths(kI64, {dims[static_cast<size_t>(1 - time)]});
  for (int64_t i = 0; i < lengths.count(); ++i) lengths.Put(i, d.Between(1, dims[static_cast<size_t>(time)]));
  d.In(lengths);
  if (time == 1 || d.Half()) d.Set("time_axis", Int(time)).Set("batch_axis", Int(1 - time));
}

}  // namespace

DraftRows MovementDrafts() {
  return {{"CenterCropPad", WriteCenterCropPad},
          {"Concat", WriteConcat},
          {"Crop", WriteCrop},
          {"DepthToSpace", WriteDepthToSpace},
          {"Pad", WritePad},
          {"ReverseSequence", WriteReverseSequence},
          {"Slice", WriteSlice},
          {"SpaceToDepth", WriteSpaceToDepth},
          {"Split", WriteSplit},
          {"Transpose", WriteTranspose},
          {"Trilu", WriteTrilu}};
}

}  // namespace deputy::conformance
