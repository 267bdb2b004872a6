
#include <algorithm>

#include "random/families.hpp"

namespace deputy::conformance {

Window DrawWindow(Draft& d, size_t rank, const std::vector<std::string>& auto_pads) {
  Window w;
  const int64_t most = rank <= 2 ? 4 : 2;
  const bool strided = d.Half(), dilated = d.Has("dilations") && d.Once(3);
  const std::string pad = d.Half() ? d.Pick(auto_pads) : "";
  const bool padded = (pad.empty() || pad == "NOTSET") && d.Half();
  for (size_t i = 0; i < rank; ++i) {
    w.kernel.push_back(d.Between(1, most));
    w.strides.push_back(strided ? d.Between(1, 3) : 1);
    w.dilations.push_back(dilated ? d.Between(1, 3) : 1);
  }
  w.pads.assign(2 * rank, 0);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t reach = (w.kernel[i] - 1) * w.dilations[i] + 1;
    // No more than a window less one, so that each window has an element.
    if (padded)
      for (const size_t at : {i, i + rank}) w.pads[at] = d.Between(0, std::min<int64_t>(w.kernel[i] - 1, 2));
    const int64_t least = std::max(padded ? w.dilations[i] : 1, reach - w.pads[i] - w.pads[i + rank]);
    w.input.push_back(least + d.Between(0, rank <= 2 ? 5 : 2));
    const int64_t over = w.input[i] + w.pads[i] + w.pads[i + rank] - reach;
    w.output.push_back(pad.rfind("SAME", 0) == 0 ? (w.input[i] + w.strides[i] - 1) / w.strides[i]
                                                 : over / w.strides[i] + 1);
  }
  if (strided || d.Once(4)) d.Set("strides", Ints(w.strides));
  if (dilated) d.Set("dilations", Ints(w.dilations));
  if (padded) d.Set("pads", Ints(w.pads));
  if (!pad.empty() && d.Has("auto_pad")) d.Set("auto_pad", Text(pad));
  return w;
}

namespace {

Dims Joined(Dims front, const Dims& back) {
  front.insert(front.end(), back.begin(), back.end());
  return front;
}

size_t SpatialRank(Draft& d) {
  const int64_t rank = d.Between(1, 8);
  return static_cast<size_t>(rank <= 4 ? 2 : (rank <= 6 ? 1 : 3));
}

struct Channels {
  int64_t batch, groups, in_group, out_group;
};
Channels DrawChannels(Draft& d) {
  const bool depthwise = d.Once(4);
  return {d.Once(30) ? 0 : d.Between(1, 2), d.Half() ? 1 : d.Between(2, 4), depthwise ? 1 : d.Between(1, 4),
          d.Between(1, 4)};
}

void WriteConv(Draft& d) {
  const deputy_dtype dtype = d.Type();
  const size_t rank = SpatialRank(d);
  const Channels c = DrawChannels(d);
  const Window w = DrawWindow(d, rank, EveryAutoPad());
  d.In(d.Values(dtype, Joined({c.batch, c.groups * c.in_group}, w.input)));
  d.In(d.Values(dtype, Joined({c.groups * c.out_group, c.in_group}, w.kernel)));
  if (d.Half()) d.In(d.Values(dtype, {c.groups * c.out_group}));
  if (c.groups != 1) d.Set("group", Int(c.groups));
  d.Maybe("kernel_shape", Ints(w.kernel));
}

void WriteConvTranspose(Draft& d) {
  const deputy_dtype dtype = d.Type();
  const size_t rank = SpatialRank(d);
  const Channels c = DrawChannels(d);
  // For SAME, ONNX's text and its shape inference have given different extents unless strides divide evenly.
  Window w = DrawWindow(d, rank, {"NOTSET", "VALID"});
  // Padding reduces the output, which keeps at least one element.
  for (size_t i = 0; i < rank; ++i) {
    const int64_t full = (w.input[i] - 1) * w.strides[i] + (w.kernel[i] - 1) * w.dilations[i] + 1;
    if (full <= w.pads[i] + w.pads[i + rank]) w.input[i] += 3;
  }
  d.In(d.Values(dtype, Joined({c.batch, c.groups * c.in_group}, w.input)));
  d.In(d.Values(dtype, Joined({c.groups * c.in_group, c.out_group}, w.kernel)));
  if (d.Half()) d.In(d.Values(dtype, {c.groups * c.out_group}));
  if (c.groups != 1) d.Set("group", Int(c.groups));
  d.Maybe("kernel_shape", Ints(w.kernel));
  Dims added;
  for (size_t i = 0; i < rank; ++i) added.push_back(d.Between(0, std::max(w.strides[i], w.dilations[i]) - 1));
  if (d.Once(3)) d.Set("output_padding", Ints(added));
}

void WriteConvInteger(Draft& d) {
  const deputy_dtype first = d.Type(), second = d.Type();
  const size_t rank = SpatialRank(d);
  const Channels c = DrawChannels(d);
  const Window w = DrawWindow(d, rank, EveryAutoPad());
  d.In(Bytes(d, first, Joined({c.batch, c.groups * c.in_group}, w.input)));
  d.In(Bytes(d, second, Joined({c.groups * c.out_group, c.in_group}, w.kernel)));
  const int64_t given = d.Between(0, 2);
  if (given >= 1) d.In(ZeroPoint(d, first, {}));
  if (given >= 2) d.In(ZeroPoint(d, second, d.Half() ? Dims{} : Dims{c.groups * c.out_group}));
  if (c.groups != 1) d.Set("group", Int(c.groups));
  d.Maybe("kernel_shape", Ints(w.kernel));
}

void WriteQLinearConv(Draft& d) {
  const deputy_dtype first = d.Type(), second = d.Type(), to = d.Type();
  const size_t rank = SpatialRank(d);
  const Channels c = DrawChannels(d);
  const Window w = DrawWindow(d, rank, EveryAutoPad());
  const int64_t outputs = c.groups * c.out_group;
  const Dims each = d.Half() ? Dims{} : Dims{outputs};
  d.In(Bytes(d, first, Joined({c.batch, c.groups * c.in_group}, w.input))).In(Scale(d, kF32, {}));
  d.In(ZeroPoint(d, first, {})).In(Bytes(d, second, Joined({outputs, c.in_group}, w.kernel)));
  d.In(Scale(d, kF32, each)).In(ZeroPoint(d, second, each)).In(RealScalar(4)).In(ZeroPoint(d, to, {}));
  if (d.Half()) d.In(d.Values(kI32, {outputs}, -900, 900));
  if (c.groups != 1) d.Set("group", Int(c.groups));
  d.Maybe("kernel_shape", Ints(w.kernel));
}

void WriteDeformConv(Draft& d) {
  const deputy_dtype dtype = d.Type();
  const Channels c = DrawChannels(d);
  const Window w = DrawWindow(d, 2, {"NOTSET"});
  std::vector<int64_t> divisors;
  for (int64_t i = 1; i <= c.groups * c.in_group; ++i)
    if (c.groups * c.in_group % i == 0) divisors.push_back(i);
  const int64_t moved = d.Pick(divisors), taps = moved * w.kernel[0] * w.kernel[1];
  d.In(d.Values(dtype, Joined({c.batch, c.groups * c.in_group}, w.input)));
  d.In(d.Values(dtype, Joined({c.groups * c.out_group, c.in_group}, w.kernel)));
  d.In(d.Values(dtype, Joined({c.batch, 2 * taps}, w.output), -1.5, 1.5));
  const int64_t given = d.Between(0, 2);
  if (given >= 1) {
    if (given == 1 || d.Half())
      d.In(d.Values(dtype, {c.groups * c.out_group}));
    else
      d.None();
  }
  if (given >= 2) d.In(d.Values(dtype, Joined({c.batch, taps}, w.output), 0, 1));
  if (c.groups != 1) d.Set("group", Int(c.groups));
  if (moved != 1) d.Set("offset_group", Int(moved));
  d.Maybe("kernel_shape", Ints(w.kernel));
}

void WriteCol2Im(Draft& d) {
  const deputy_dtype dtype = d.Type();
  const Window w = DrawWindow(d, static_cast<size_t>(d.Between(1, 3)), {"NOTSET"});
  d.In(
      d.Values(dtype, {d.Between(1, 2), d.Between(1, 3) * reference::CountOf(w.kernel), reference::CountOf(w.output)}));
  d.In(Whole(w.input)).In(Whole(w.kernel));
}

}  // namespace

DraftRows WindowDrafts() {
  return {{"Col2Im", WriteCol2Im},           {"Conv", WriteConv},
          {"ConvInteger", WriteConvInteger}, {"ConvTranspose", WriteConvTranspose},
          {"DeformConv", WriteDeformConv},   {"QLinearConv", WriteQLinearConv}};
}

}  // namespace deputy::conformance
