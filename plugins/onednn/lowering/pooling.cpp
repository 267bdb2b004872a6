// Pools. Maxima over tensors whose channels lie in vectors are loops of the plugin's own: for each vector oneDNN's
// kernel compares and selects instead of taking the maximum, and is three to five times slower.
#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "lowering/suited.hpp"

namespace onednn {
namespace {

// A tensor of images with up to three spatial dimensions, whose channels lie in groups of neighbours: one group if they
// are innermost, one for each block otherwise. Strides are in elements.
struct VectorImages {
  int64_t images, groups, lanes;
  int64_t image_stride, group_stride;
  std::array<int64_t, 3> extents, strides;
};

std::optional<VectorImages> AsVectorImages(const memory::desc& desc) {
  const dnnl_memory_desc_t& data = desc.data;
  if (data.format_kind != dnnl_blocked || data.offset0 != 0 || data.data_type != dnnl_f32 || data.ndims > 5)
    return std::nullopt;
  const auto& blocking = data.format_desc.blocking;
  VectorImages images{data.dims[0], 1, data.dims[1], blocking.strides[0], 0, {1, 1, 1}, {0, 0, 0}};
  if (blocking.inner_nblks == 1 && blocking.inner_idxs[0] == 1) {
    images.lanes = blocking.inner_blks[0];
    images.groups = data.padded_dims[1] / images.lanes;
    images.group_stride = blocking.strides[1];
  } else if (blocking.inner_nblks != 0 || blocking.strides[1] != 1) {
    return std::nullopt;
  }
  for (int i = 2; i < data.ndims; ++i) {
    const size_t at = static_cast<size_t>(i + 3 - data.ndims);
    images.extents[at] = data.dims[i];
    images.strides[at] = blocking.strides[i];
  }
  return images;
}

// One spatial dimension of a window.
struct Axis {
  int64_t kernel = 1, stride = 1, step = 1, before = 0;
};
struct Range {
  int64_t first, stop;
};

// The taps that lie inside of the input.
Range TapsInside(const Axis& axis, int64_t at, int64_t extent) {
  const int64_t start = at * axis.stride - axis.before;
  const int64_t first = start >= 0 ? 0 : (-start + axis.step - 1) / axis.step;
  const int64_t stop = extent <= start ? 0 : (extent - start + axis.step - 1) / axis.step;
  return {first, std::max(first, std::min(axis.kernel, stop))};
}

constexpr float kLeast = -std::numeric_limits<float>::infinity();

// Windows of several neighbouring channels: `count` of them, `step` elements apart in the input.
struct Windows {
  const float* corner;
  int64_t step;
  const int64_t* taps;  // distances from a window's corner
  int64_t tap_count;
  bool continues;  // the results of other taps are in `to` already
  int64_t count;
  float* to;
  int64_t to_step;
};

// Of kCount vectors. kTaps: the number of taps, none of which was taken before; 0: any number.
template <class Vector, int kCount, int kTaps>
inline __attribute__((always_inline)) void TakeLargest(Windows windows) {
  constexpr int kLanesOf = sizeof(Vector) / sizeof(float);
  const int64_t tap_count = kTaps == 0 ? windows.tap_count : kTaps;
  for (; windows.count > 0; --windows.count, windows.corner += windows.step, windows.to += windows.to_step) {
    Vector largest[kCount];
#pragma GCC unroll 4
    for (int i = 0; i < kCount; ++i) {
      largest[i] = kLeast - Vector{};
      if (kTaps == 0 && windows.continues) std::memcpy(&largest[i], windows.to + kLanesOf * i, sizeof(Vector));
    }
#pragma GCC unroll 9
    for (int64_t t = 0; t < tap_count; ++t) {
      const float* const at = windows.corner + windows.taps[t];
#pragma GCC unroll 4
      for (int i = 0; i < kCount; ++i) {
        Vector vector;
        std::memcpy(&vector, at + kLanesOf * i, sizeof vector);
        largest[i] = vector > largest[i] ? vector : largest[i];
      }
    }
#pragma GCC unroll 4
    for (int i = 0; i < kCount; ++i) std::memcpy(windows.to + kLanesOf * i, &largest[i], sizeof(Vector));
  }
}

// 2x2 and 3x3 are what most models have.
template <class Vector, int kCount>
inline __attribute__((always_inline)) void TakeLargest(const Windows& windows) {
  if (!windows.continues && windows.tap_count == 4) return TakeLargest<Vector, kCount, 4>(windows);
  if (!windows.continues && windows.tap_count == 9) return TakeLargest<Vector, kCount, 9>(windows);
  TakeLargest<Vector, kCount, 0>(windows);
}

typedef float Quad __attribute__((vector_size(16)));
template <int kCount>
void TakeLargestQuads(const Windows& windows) {
  TakeLargest<Quad, kCount>(windows);
}

#if defined(__x86_64__)
typedef float Octet __attribute__((vector_size(32)));
template <int kCount>
__attribute__((target("avx2"))) void TakeLargestOctets(const Windows& windows) {
  TakeLargest<Octet, kCount>(windows);
}
bool HasOctets() { return __builtin_cpu_supports("avx2"); }
#else
template <int kCount>
void TakeLargestOctets(const Windows& windows) {
  TakeLargestQuads<2 * kCount>(windows);
}
bool HasOctets() { return false; }
#endif

struct MaxPool {
  VectorImages x, y;
  std::array<Axis, 3> axes;

  void operator()(const std::vector<char*>& data) const {
    const float* const from = reinterpret_cast<const float*>(data[0]);
    float* const to = reinterpret_cast<float*>(data[1]);
    const int64_t rows = y.images * y.groups * y.extents[0] * y.extents[1];
    const int64_t work = rows * y.extents[2] * y.lanes * axes[0].kernel * axes[1].kernel * axes[2].kernel;
#pragma omp parallel for if (work > (1 << 16))
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t h = row % y.extents[1], d = row / y.extents[1] % y.extents[0];
      const int64_t group = row / (y.extents[1] * y.extents[0]) % y.groups;
      const int64_t image = row / (y.extents[1] * y.extents[0] * y.groups);
      ComputeRow(from + image * x.image_stride + group * x.group_stride, d, h,
                 to + image * y.image_stride + group * y.group_stride + d * y.strides[0] + h * y.strides[1]);
    }
  }

 private:
  // Distances of a window's taps from its corner.
  struct Taps {
    static constexpr int64_t kMost = 64;
    std::array<int64_t, kMost> offsets;
    int64_t count = 0;
  };

  void ComputeRow(const float* from, int64_t d, int64_t h, float* to) const {
    const Range deep = TapsInside(axes[0], d, x.extents[0]), high = TapsInside(axes[1], h, x.extents[1]);
    const float* const first = from + (d * axes[0].stride - axes[0].before) * x.strides[0] +
                               (h * axes[1].stride - axes[1].before) * x.strides[1];
    const Axis& axis = axes[2];
    Range inner{0, 0};  // positions whose windows do not touch the padding at the sides
    Taps taps;
    if ((deep.stop - deep.first) * (high.stop - high.first) * axis.kernel <= Taps::kMost) {
      taps = TapsOf(deep, high, {0, axis.kernel});
      const int64_t room = x.extents[2] - 1 - (axis.kernel - 1) * axis.step + axis.before;
      inner.first = std::min((axis.before + axis.stride - 1) / axis.stride, y.extents[2]);
      inner.stop = room < 0 ? 0 : std::min(room / axis.stride + 1, y.extents[2]);
    }
    const auto corner = [&](int64_t w) { return first + (w * axis.stride - axis.before) * x.strides[2]; };
    if (inner.first < inner.stop)
      ComputeWindows(corner(inner.first), axis.stride * x.strides[2], taps, false, inner.stop - inner.first,
                     to + inner.first * y.strides[2]);
    for (int64_t w = 0; w < y.extents[2]; ++w) {
      if (w >= inner.first && w < inner.stop) {
        w = inner.stop - 1;
        continue;
      }
      // In pieces that fit the list of taps.
      const Range wide = TapsInside(axis, w, x.extents[2]);
      bool continues = false;
      for (int64_t i = deep.first; i < deep.stop; ++i)
        for (int64_t j = high.first; j < high.stop; ++j)
          for (int64_t k = wide.first; k < wide.stop; k += Taps::kMost, continues = true)
            ComputeWindows(corner(w), 0, TapsOf({i, i + 1}, {j, j + 1}, {k, std::min(k + Taps::kMost, wide.stop)}),
                           continues, 1, to + w * y.strides[2]);
    }
  }

  Taps TapsOf(Range deep, Range high, Range wide) const {
    Taps taps;
    for (int64_t i = deep.first; i < deep.stop; ++i)
      for (int64_t j = high.first; j < high.stop; ++j)
        for (int64_t k = wide.first; k < wide.stop; ++k)
          taps.offsets[static_cast<size_t>(taps.count++)] =
              i * axes[0].step * x.strides[0] + j * axes[1].step * x.strides[1] + k * axes[2].step * x.strides[2];
    return taps;
  }

  // `count` windows, `step` elements apart in the input, at neighbouring positions of the result. With `continues` the
  // results of other taps are in `to` already.
  void ComputeWindows(const float* corner, int64_t step, const Taps& taps, bool continues, int64_t count,
                      float* to) const {
    const auto from = [&](int64_t lane) {
      return Windows{corner + lane, step, taps.offsets.data(), taps.count, continues, count, to + lane, y.strides[2]};
    };
    int64_t lane = 0;
    if (HasOctets()) {
      for (; lane + 32 <= y.lanes; lane += 32) TakeLargestOctets<4>(from(lane));
      for (; lane + 16 <= y.lanes; lane += 16) TakeLargestOctets<2>(from(lane));
      for (; lane + 8 <= y.lanes; lane += 8) TakeLargestOctets<1>(from(lane));
    }
    for (; lane + 16 <= y.lanes; lane += 16) TakeLargestQuads<4>(from(lane));
    for (; lane + 8 <= y.lanes; lane += 8) TakeLargestQuads<2>(from(lane));
    for (; lane + 4 <= y.lanes; lane += 4) TakeLargestQuads<1>(from(lane));
    for (; lane < y.lanes; ++lane)
      for (int64_t i = 0; i < count; ++i) {
        float largest = continues ? to[i * y.strides[2] + lane] : kLeast;
        for (int64_t t = 0; t < taps.count; ++t)
          largest = std::max(largest, corner[i * step + taps.offsets[static_cast<size_t>(t)] + lane]);
        to[i * y.strides[2] + lane] = largest;
      }
  }
};

std::optional<MaxPool> AsMaxPool(const Pool& parameters, const memory::desc& source, const memory::desc& result) {
  if (parameters.algorithm != dnnl::algorithm::pooling_max) return std::nullopt;
  const auto x = AsVectorImages(source), y = AsVectorImages(result);
  if (!x || !y || x->lanes != y->lanes || x->groups != y->groups) return std::nullopt;
  MaxPool pool{*x, *y, {}};
  const Window& window = parameters.window;
  for (size_t i = 0; i < parameters.kernel.size(); ++i)
    pool.axes[i + 3 - parameters.kernel.size()] = {parameters.kernel[i], window.strides[i], window.dilations[i] + 1,
                                                   window.pads_before[i]};
  return pool;
}

}  // namespace

void LowerPool(const Operation& operation, const Pool& parameters, Lowering& lowering) {
  NoteRowMajor(lowering, operation.inputs[0]);
  const Window& window = parameters.window;
  const memory::desc any = Any(lowering.program().dims(operation.output));
  const auto describe = [&](const memory::desc& source, const dnnl::primitive_attr& attributes) {
    const dnnl::pooling_v2_forward::desc wanted(dnnl::prop_kind::forward_inference, parameters.algorithm, source, any,
                                                window.strides, parameters.kernel, window.dilations, window.pads_before,
                                                window.pads_after);
    return dnnl::pooling_v2_forward::primitive_desc(wanted, attributes, lowering.engine());
  };
  const Slot source = Suited(lowering, operation.inputs[0], describe);
  PostOps post_ops(operation, lowering, any);
  const memory::desc layout = describe(source.desc, OwnScratchpad()).dst_desc();
  if (const auto pool = AsMaxPool(parameters, source.desc, layout)) {
    const Slot result = lowering.Result(operation.output, layout);
    lowering.EmitFunction("max pool", {source, result}, *pool);
    return post_ops.EmitRest(result);
  }
  const auto chosen =
      post_ops.Fit([&](const dnnl::primitive_attr& attributes) { return describe(source.desc, attributes); });
  post_ops.Emit<dnnl::pooling_v2_forward>(chosen, {{DNNL_ARG_SRC, source}}, chosen.dst_desc(), chosen.dst_desc());
}

}  // namespace onednn
