// GridSample and AffineGrid, in two or three dimensions; DeformConv, which samples between the elements as well.
#include <algorithm>
#include <cmath>

#include "reference/node.hpp"

namespace deputy::conformance::reference {
namespace {

using Point = std::vector<double>;

int64_t Nearest(double position) { return static_cast<int64_t>(std::nearbyint(position)); }

// Mirrored at both ends until it lies between them.
double Reflected(double x, double low, double high) {
  const double range = high - low;
  if (range == 0) return low;
  double off = std::fmod(std::fabs(x - low), 2 * range);
  if (off > range) off = 2 * range - off;
  return low + off;
}

struct Sampler {
  const Tensor& x;
  std::string padding;
  bool corners = false;

  double Low() const { return corners ? 0 : -0.5; }
  double High(int64_t extent) const { return static_cast<double>(extent) - (corners ? 1 : 0.5); }

  // The element at a whole position of the plane that begins at `plane`; positions outside are moved or padded.
  double Pixel(int64_t plane, Dims at) const {
    int64_t flat = 0;
    for (size_t d = 0; d < at.size(); ++d) {
      const int64_t extent = x.dims[d + 2];
      if (at[d] < 0 || at[d] >= extent) {
        if (padding == "zeros") return 0;
        if (padding == "border") at[d] = std::clamp<int64_t>(at[d], 0, extent - 1);
        if (padding == "reflection") at[d] = Nearest(Reflected(static_cast<double>(at[d]), Low(), High(extent)));
      }
      flat = flat * extent + at[d];
    }
    return x.Get(plane + flat);
  }

  // Weights of the whole positions around `position`, from `first` on.
  struct Taps {
    int64_t first;
    std::vector<double> weights;
  };
  static Taps Linear(double position) {
    const double base = std::floor(position);
    return {static_cast<int64_t>(base), {1 - (position - base), position - base}};
  }
  static Taps Cubic(double position) {
    constexpr double kA = -0.75;
    const double base = std::floor(position), t = position - base;
    const auto near = [](double d) { return (kA + 2) * d * d * d - (kA + 3) * d * d + 1; };
    const auto far = [](double d) { return kA * d * d * d - 5 * kA * d * d + 8 * kA * d - 4 * kA; };
    return {static_cast<int64_t>(base) - 1, {far(t + 1), near(t), near(1 - t), far(2 - t)}};
  }

  double Between(int64_t plane, const Point& position, const std::string& mode) const {
    std::vector<Taps> taps;
    Dims counts;
    for (const double at : position) {
      if (mode == "nearest")
        taps.push_back({Nearest(at), {1.0}});
      else
        taps.push_back(mode == "linear" ? Linear(at) : Cubic(at));
      counts.push_back(static_cast<int64_t>(taps.back().weights.size()));
    }
    double sum = 0;
    for (int64_t i = 0; i < CountOf(counts); ++i) {
      Dims at = IndexOf(counts, i);
      double weight = 1;
      for (size_t d = 0; d < at.size(); ++d) {
        weight *= taps[d].weights[static_cast<size_t>(at[d])];
        at[d] += taps[d].first;
      }
      if (weight != 0) sum += weight * Pixel(plane, at);
    }
    return sum;
  }
};

std::vector<Tensor> GridSample(const Node& node, const Inputs& in) {
  const Tensor &x = *in[0], &grid = *in[1];
  const size_t rank = x.rank() - 2;
  std::string mode = node.String("mode", "linear");
  if (mode == "bilinear") mode = "linear";
  if (mode == "bicubic") mode = "cubic";
  const Sampler sampler{x, node.String("padding_mode", "zeros"), node.Int("align_corners", 0) != 0};
  Dims dims = {x.dims[0], x.dims[1]};
  dims.insert(dims.end(), grid.dims.begin() + 1, grid.dims.end() - 1);
  const Dims plane_dims(x.dims.begin() + 2, x.dims.end()), out_plane(dims.begin() + 2, dims.end());
  Tensor y(x.dtype, dims);
  for (int64_t i = 0; i < y.count(); ++i) {
    const int64_t plane = i / CountOf(out_plane), sample = plane / x.dims[1];
    const int64_t point = (sample * CountOf(out_plane) + i % CountOf(out_plane)) * static_cast<int64_t>(rank);
    Point position;
    for (size_t d = 0; d < rank; ++d) {
      // The grid names the last dimension first, each from -1 to 1.
      const double unit = grid.Get(point + static_cast<int64_t>(rank - 1 - d));
      const auto extent = static_cast<double>(plane_dims[d]);
      double at = sampler.corners ? (unit + 1) / 2 * (extent - 1) : ((unit + 1) * extent - 1) / 2;
      if (mode == "nearest") at = std::nearbyint(at);
      const double low = sampler.Low(), high = sampler.High(plane_dims[d]);
      if (at < low || at > high) {
        if (sampler.padding == "border") at = std::clamp(at, 0.0, extent - 1);
        if (sampler.padding == "reflection") at = Reflected(at, low, high);
      }
      position.push_back(at);
    }
    y.Put(i, sampler.Between(plane * CountOf(plane_dims), position, mode));
  }
  return {y};
}

std::vector<Tensor> AffineGrid(const Node& node, const Inputs& in) {
  const Tensor& theta = *in[0];
  const Dims size = ListOf(*in[1]);
  const bool corners = node.Int("align_corners", 0) != 0;
  const auto rank = static_cast<int64_t>(size.size()) - 2;
  Dims dims = {size[0]};
  dims.insert(dims.end(), size.begin() + 2, size.end());
  dims.push_back(rank);
  Tensor grid(theta.dtype, dims);
  for (int64_t i = 0; i < grid.count(); ++i) {
    const Dims at = IndexOf(dims, i);
    const int64_t row = (at[0] * rank + at.back()) * (rank + 1);
    double sum = theta.Get(row + rank);
    for (int64_t d = 0; d < rank; ++d) {
      const auto position = static_cast<double>(at[static_cast<size_t>(rank - d)]);
      const auto extent = static_cast<double>(dims[static_cast<size_t>(rank - d)]);
      // For a single element ONNX's text defines no step; it is in the middle, as in PyTorch.
      if (corners && extent == 1) continue;
      const double step = corners ? 2 / (extent - 1) : 2 / extent;
      sum += theta.Get(row + d) * (corners ? -1 + position * step : -1 + (position + 0.5) * step);
    }
    grid.Put(i, sum);
  }
  return {grid};
}

// As Conv, but each tap of each window is moved by an offset of its own, and weighted by a mask.
std::vector<Tensor> DeformConv(const Node& node, const Inputs& in) {
  const Tensor &x = *in[0], &w = *in[1], &offset = *in[2];
  const size_t rank = x.rank() - 2;
  const Dims kernel(w.dims.begin() + 2, w.dims.end()), ones(rank, 1);
  const Dims strides = node.Ints("strides", ones), dilations = node.Ints("dilations", ones);
  const Dims pads = node.Ints("pads", Dims(2 * rank, 0));
  const int64_t groups = node.Int("group", 1), offset_groups = node.Int("offset_group", 1), taps = CountOf(kernel);
  const int64_t made = w.dims[0] / groups, channels = x.dims[1] / groups, moved = x.dims[1] / offset_groups;
  Dims dims = {x.dims[0], w.dims[0]};
  dims.insert(dims.end(), offset.dims.begin() + 2, offset.dims.end());
  const Dims out(dims.begin() + 2, dims.end()), plane(x.dims.begin() + 2, x.dims.end());
  const Sampler sampler{x, "zeros"};
  Tensor y(x.dtype, dims);
  for (int64_t i = 0; i < y.count(); ++i) {
    const Dims at = IndexOf(dims, i);
    const int64_t place = i % CountOf(out);
    double sum = At(in, 3) == nullptr ? 0 : in[3]->Get(at[1]);
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t t = 0; t < taps; ++t) {
        const Dims tap = IndexOf(kernel, t);
        const int64_t channel = at[1] / made * channels + c;
        const int64_t mover = (at[0] * offset_groups + channel / moved) * taps + t;
        Point position;
        for (size_t d = 0; d < rank; ++d) {
          const int64_t shift = (mover * static_cast<int64_t>(rank) + static_cast<int64_t>(d)) * CountOf(out) + place;
          position.push_back(static_cast<double>(at[d + 2] * strides[d] + tap[d] * dilations[d] - pads[d]) +
                             offset.Get(shift));
        }
        const double value = sampler.Between((at[0] * x.dims[1] + channel) * CountOf(plane), position, "linear");
        const double share = At(in, 4) == nullptr ? 1 : in[4]->Get(mover * CountOf(out) + place);
        sum += value * share * w.Get((at[1] * channels + c) * taps + t);
      }
    y.Put(i, sum);
  }
  return {y};
}

}  // namespace

KernelRows SamplingKernels() {
  return {{"AffineGrid", AffineGrid}, {"DeformConv", DeformConv}, {"GridSample", GridSample}};
}

}  // namespace deputy::conformance::reference
