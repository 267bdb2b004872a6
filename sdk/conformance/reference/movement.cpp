// Operators that move elements without reading them: each output element is copied from a source position.
#include <algorithm>
#include <numeric>

#include "reference/node.hpp"

namespace deputy::conformance::reference {
namespace {

// A tensor of these extents whose element at `index` is the element of `x` at from(index).
template <class From>
Tensor Picked(const Tensor& x, const Dims& dims, const From& from) {
  Tensor y(x.dtype, dims);
  for (int64_t i = 0; i < y.count(); ++i) y.Copy(i, x, Flat(x.dims, from(IndexOf(dims, i))));
  return y;
}

Tensor Reshaped(Tensor x, Dims dims) {
  x.dims = std::move(dims);
  return x;
}

std::vector<Tensor> Reshape(const Node& node, const Inputs& in) {
  const bool keep_zero = node.Int("allowzero", 0) != 0;
  Dims dims = At(in, 1) != nullptr ? ListOf(*in[1]) : node.Ints("shape", {});
  int64_t known = 1;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0 && !keep_zero) dims[i] = in[0]->dims[i];
    if (dims[i] >= 0) known *= dims[i];
  }
  for (int64_t& extent : dims)
    if (extent < 0) extent = known == 0 ? 0 : in[0]->count() / known;
  return {Reshaped(*in[0], dims)};
}

std::vector<Tensor> Flatten(const Node& node, const Inputs& in) {
  const int64_t axis = node.Int("axis", 1);
  const size_t split = FromFront(axis, in[0]->rank());
  Dims dims = {1, 1};
  for (size_t i = 0; i < in[0]->rank(); ++i) dims[i < split ? 0 : 1] *= in[0]->dims[i];
  return {Reshaped(*in[0], dims)};
}

std::vector<Tensor> Squeeze(const Node& node, const Inputs& in) {
  std::vector<int64_t> axes = At(in, 1) != nullptr ? ListOf(*in[1]) : node.Ints("axes", {});
  Dims dims;
  for (size_t i = 0; i < in[0]->rank(); ++i) {
    const bool named =
        std::any_of(axes.begin(), axes.end(), [&](int64_t a) { return FromFront(a, in[0]->rank()) == i; });
    if (axes.empty() ? in[0]->dims[i] != 1 : !named) dims.push_back(in[0]->dims[i]);
  }
  return {Reshaped(*in[0], dims)};
}

std::vector<Tensor> Unsqueeze(const Node& node, const Inputs& in) {
  const std::vector<int64_t> axes = At(in, 1) != nullptr ? ListOf(*in[1]) : node.Ints("axes", {});
  Dims dims(in[0]->rank() + axes.size(), -1);
  for (const int64_t axis : axes) dims[FromFront(axis, dims.size())] = 1;
  size_t next = 0;
  for (int64_t& extent : dims)
    if (extent < 0) extent = in[0]->dims[next++];
  return {Reshaped(*in[0], dims)};
}

std::vector<Tensor> Transpose(const Node& node, const Inputs& in) {
  const Tensor& x = *in[0];
  Dims backwards(x.rank());
  std::iota(backwards.rbegin(), backwards.rend(), 0);
  const Dims perm = node.Ints("perm", backwards);
  Dims dims;
  for (const int64_t axis : perm) dims.push_back(x.dims[static_cast<size_t>(axis)]);
  return {Picked(x, dims, [&](const Dims& index) {
    Dims from(x.rank());
    for (size_t i = 0; i < perm.size(); ++i) from[static_cast<size_t>(perm[i])] = index[i];
    return from;
  })};
}

std::vector<Tensor> Concat(const Node& node, const Inputs& in) {
  const size_t axis = FromFront(node.Int("axis", 1), in[0]->rank());
  Dims dims = in[0]->dims;
  dims[axis] = 0;
  for (const Tensor* input : in) dims[axis] += input->dims[axis];
  Tensor y(in[0]->dtype, dims);
  int64_t begin = 0;
  for (const Tensor* input : in) {
    for (int64_t i = 0; i < input->count(); ++i) {
      Dims to = IndexOf(input->dims, i);
      to[axis] += begin;
      y.Copy(Flat(dims, to), *input, i);
    }
    begin += input->dims[axis];
  }
  return {y};
}

std::vector<Tensor> Split(const Node& node, const Inputs& in) {
  const Tensor& x = *in[0];
  const size_t axis = FromFront(node.Int("axis", 0), x.rank());
  std::vector<int64_t> sizes = At(in, 1) != nullptr ? ListOf(*in[1]) : node.Ints("split", {});
  if (sizes.empty()) {
    const auto parts = static_cast<int64_t>(node.output_count);
    const int64_t each = (x.dims[axis] + parts - 1) / parts;
    for (int64_t i = 0; i < parts; ++i) sizes.push_back(std::min(each, x.dims[axis] - i * each));
  }
  std::vector<Tensor> outputs;
  int64_t begin = 0;
  for (const int64_t size : sizes) {
    Dims dims = x.dims;
    dims[axis] = size;
    outputs.push_back(Picked(x, dims, [&](Dims index) {
      index[axis] += begin;
      return index;
    }));
    begin += size;
  }
  return outputs;
}

std::vector<Tensor> Slice(const Node& node, const Inputs& in) {
  const Tensor& x = *in[0];
  const auto list = [&](size_t input, const char* name) {
    return At(in, input) != nullptr ? ListOf(*in[input]) : node.Ints(name, {});
  };
  const Dims starts = list(1, "starts"), ends = list(2, "ends");
  Dims axes = list(3, "axes"), steps = list(4, "steps");
  if (axes.empty())
    for (size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  if (steps.empty()) steps.assign(starts.size(), 1);
  Dims begin(x.rank(), 0), step(x.rank(), 1), dims = x.dims;
  for (size_t i = 0; i < starts.size(); ++i) {
    const size_t axis = FromFront(axes[i], x.rank());
    const int64_t extent = x.dims[axis];
    const auto clamped = [&](int64_t position) {
      if (position < 0) position += extent;
      return steps[i] > 0 ? std::clamp<int64_t>(position, 0, extent) : std::clamp<int64_t>(position, -1, extent - 1);
    };
    // The smallest numbers mean "in front of the first element", also after the extent has been added.
    const int64_t end = ends[i] < -extent && steps[i] < 0 ? -1 : clamped(ends[i]);
    begin[axis] = clamped(starts[i]);
    // Backwards from in front of the first element begins at the first element, unlike in numpy.
    if (steps[i] < 0 && extent > 0) begin[axis] = std::max<int64_t>(begin[axis], 0);
    step[axis] = steps[i];
    const int64_t way = steps[i] > 0 ? end - begin[axis] : begin[axis] - end, size = std::abs(steps[i]);
    dims[axis] = way <= 0 ? 0 : (way + size - 1) / size;
  }
  return {Picked(x, dims, [&](Dims index) {
    for (size_t i = 0; i < index.size(); ++i) index[i] = begin[i] + index[i] * step[i];
    return index;
  })};
}

// The source of position `at` outside of [0, extent); -1 for the constant.
int64_t Padded(int64_t at, int64_t extent, const std::string& mode) {
  if (mode == "constant") return at < 0 || at >= extent ? -1 : at;
  if (mode == "edge") return std::clamp<int64_t>(at, 0, extent - 1);
  if (mode == "wrap") return ((at % extent) + extent) % extent;
  const int64_t period = std::max<int64_t>(1, 2 * (extent - 1));
  const int64_t within = ((at % period) + period) % period;
  return within < extent ? within : period - within;
}

std::vector<Tensor> Pad(const Node& node, const Inputs& in) {
  const Tensor& x = *in[0];
  const std::string mode = node.String("mode", "constant");
  const Dims pads = At(in, 1) != nullptr ? ListOf(*in[1]) : node.Ints("pads", node.Ints("paddings", {}));
  Dims axes(x.rank());
  std::iota(axes.begin(), axes.end(), 0);
  if (At(in, 3) != nullptr) axes = ListOf(*in[3]);
  Dims before(x.rank(), 0), dims = x.dims;
  for (size_t i = 0; i < axes.size(); ++i) {
    const size_t axis = FromFront(axes[i], x.rank());
    before[axis] = pads[i];
    dims[axis] += pads[i] + pads[i + axes.size()];
  }
  Tensor y(x.dtype, dims);
  for (int64_t i = 0; i < y.count(); ++i) {
    Dims from = IndexOf(dims, i);
    bool constant = false;
    for (size_t d = 0; d < from.size(); ++d) {
      from[d] = Padded(from[d] - before[d], x.dims[d], mode);
      constant = constant || from[d] < 0;
    }
    if (!constant)
      y.Copy(i, x, Flat(x.dims, from));
    else if (At(in, 2) != nullptr)
      y.Copy(i, *in[2], 0);
    else
      y.Put(i, node.Float("value", 0));
  }
  return {y};
}

// `border` is left, top, right, bottom; `scale` is the height and width that are kept.
std::vector<Tensor> Crop(const Node& node, const Inputs& in) {
  const std::vector<int64_t> border = node.Ints("border", {}), size = node.Ints("scale", {});
  Dims dims = in[0]->dims;
  dims[2] = size.empty() ? dims[2] - border[1] - border[3] : size[0];
  dims[3] = size.empty() ? dims[3] - border[0] - border[2] : size[1];
  return {Picked(*in[0], dims, [&](Dims at) {
    at[2] += border[1];
    at[3] += border[0];
    return at;
  })};
}

// The middle of each axis, padded with zeros. Of an odd difference the smaller half is in front.
std::vector<Tensor> CenterCropPad(const Node& node, const Inputs& in) {
  const Tensor& x = *in[0];
  const Dims shape = ListOf(*in[1]);
  Dims axes = node.Ints("axes", {});
  if (axes.empty())
    for (size_t i = 0; i < x.rank(); ++i) axes.push_back(static_cast<int64_t>(i));
  Dims dims = x.dims, begin(x.rank(), 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const size_t axis = FromFront(axes[i], x.rank());
    dims[axis] = shape[i];
    begin[axis] = shape[i] < x.dims[axis] ? (x.dims[axis] - shape[i]) / 2 : -((shape[i] - x.dims[axis]) / 2);
  }
  Tensor y(x.dtype, dims);
  for (int64_t i = 0; i < y.count(); ++i) {
    Dims from = IndexOf(dims, i);
    bool inside = true;
    for (size_t d = 0; d < from.size(); ++d) {
      from[d] += begin[d];
      inside = inside && from[d] >= 0 && from[d] < x.dims[d];
    }
    if (inside) y.Copy(i, x, Flat(x.dims, from));
  }
  return {y};
}

std::vector<Tensor> Expand(const Node&, const Inputs& in) {
  const Dims dims = BroadcastDims(in[0]->dims, ListOf(*in[1]));
  Tensor y(in[0]->dtype, dims);
  for (int64_t i = 0; i < y.count(); ++i) y.Copy(i, *in[0], BroadcastFlat(in[0]->dims, IndexOf(dims, i)));
  return {y};
}

std::vector<Tensor> Tile(const Node& node, const Inputs& in) {
  const Tensor& x = *in[0];
  Dims repeats = ListOf(*in[1]);
  if (node.since_version < 6) {  // how often, along which axis
    repeats.assign(x.rank(), 1);
    repeats[static_cast<size_t>(in[2]->Get(0))] = static_cast<int64_t>(in[1]->Get(0));
  }
  Dims dims = x.dims;
  for (size_t i = 0; i < dims.size(); ++i) dims[i] *= repeats[i];
  return {Picked(x, dims, [&](Dims index) {
    for (size_t i = 0; i < index.size(); ++i) index[i] %= x.dims[i];
    return index;
  })};
}

std::vector<Tensor> DepthToSpace(const Node& node, const Inputs& in) {
  const Tensor& x = *in[0];
  const int64_t block = node.Int("blocksize", 1), channels = x.dims[1] / (block * block);
  const bool crd = node.String("mode", "DCR") == "CRD";
  return {Picked(x, {x.dims[0], channels, x.dims[2] * block, x.dims[3] * block}, [&](const Dims& index) {
    const int64_t cell = index[2] % block * block + index[3] % block;
    const int64_t channel = crd ? index[1] * block * block + cell : cell * channels + index[1];
    return Dims{index[0], channel, index[2] / block, index[3] / block};
  })};
}

std::vector<Tensor> SpaceToDepth(const Node& node, const Inputs& in) {
  const Tensor& x = *in[0];
  const int64_t block = node.Int("blocksize", 1), channels = x.dims[1], cells = block * block;
  const bool depth_last = node.String("mode", "DCR") == "CRD";
  return {Picked(x, {x.dims[0], channels * cells, x.dims[2] / block, x.dims[3] / block}, [&](const Dims& index) {
    const int64_t cell = depth_last ? index[1] % cells : index[1] / channels;
    const int64_t channel = depth_last ? index[1] / cells : index[1] % channels;
    return Dims{index[0], channel, index[2] * block + cell / block, index[3] * block + cell % block};
  })};
}

std::vector<Tensor> Trilu(const Node& node, const Inputs& in) {
  const int64_t k = At(in, 1) != nullptr ? static_cast<int64_t>(in[1]->Get(0)) : 0;
  const bool upper = node.Int("upper", 1) != 0;
  Tensor y(in[0]->dtype, in[0]->dims);
  for (int64_t i = 0; i < y.count(); ++i) {
    const Dims index = IndexOf(y.dims, i);
    const int64_t off = index.back() - index[index.size() - 2];
    if (upper ? off >= k : off <= k) y.Copy(i, *in[0], i);
  }
  return {y};
}

std::vector<Tensor> ReverseSequence(const Node& node, const Inputs& in) {
  const Tensor& x = *in[0];
  const size_t time = FromFront(node.Int("time_axis", 0), 2), batch = FromFront(node.Int("batch_axis", 1), 2);
  return {Picked(x, x.dims, [&](Dims index) {
    const auto length = static_cast<int64_t>(in[1]->Get(index[batch]));
    if (index[time] < length) index[time] = length - 1 - index[time];
    return index;
  })};
}

}  // namespace

KernelRows MovementKernels() {
  return {{"CenterCropPad", CenterCropPad},
          {"Concat", Concat},
          {"Crop", Crop},
          {"DepthToSpace", DepthToSpace},
          {"Expand", Expand},
          {"Flatten", Flatten},
          {"Pad", Pad},
          {"Reshape", Reshape},
          {"ReverseSequence", ReverseSequence},
          {"Slice", Slice},
          {"SpaceToDepth", SpaceToDepth},
          {"Split", Split},
          {"Squeeze", Squeeze},
          {"Tile", Tile},
          {"Transpose", Transpose},
          {"Trilu", Trilu},
          {"Unsqueeze", Unsqueeze}};
}

}  // namespace deputy::conformance::reference
