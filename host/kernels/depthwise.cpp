#include <algorithm>
#include <cstring>
#include <optional>

#include "base/aligned.hpp"
#include "base/cancellation.hpp"
#include "kernels/columns.hpp"
#include "kernels/convolution.hpp"
#include "kernels/linalg/linalg.hpp"
#include "kernels/parts.hpp"
#include "kernels/plane.hpp"
#include "kernels/slots.hpp"

namespace deputy::host {
namespace {

// Products that take a step of a loop together.
constexpr int64_t kStepsOfVector = 8;

// One channel with its padding, cut to the area that the windows cover. The last axis is split by position modulo its
// stride, so that a tap reads neighbouring elements for neighbouring outputs.
struct PaddedChannel {
  SpatialDims extents = {};  // of the outer axes; the last one is `row`
  int64_t phase = 0;         // elements of a row per position modulo the stride
  int64_t row = 0, size = 0;

  // Empty if this is much larger than the input, with strides and dilations that no sensible model has.
  static std::optional<PaddedChannel> Of(const ColumnGeometry& geometry) {
    const size_t last = geometry.axes.size() - 1;
    PaddedChannel channel;
    channel.phase = geometry.narrow[last] + (geometry.axes[last].reach() - 1) / geometry.axes[last].stride;
    channel.row = channel.phase * geometry.axes[last].stride;
    channel.size = channel.row;
    const int64_t limit = 4 * geometry.wide_size() + 4096;
    for (size_t i = 0; i < last; ++i) {
      channel.extents[i] = (geometry.narrow[i] - 1) * geometry.axes[i].stride + geometry.axes[i].reach();
      if (channel.size > limit || channel.extents[i] > limit) return std::nullopt;
      channel.size *= channel.extents[i];
    }
    return channel.size > limit ? std::nullopt : std::optional(channel);
  }
};

struct DepthwiseSizes {
  size_t offsets, slot;  // bytes: one list for all, then the channel of each slot

  DepthwiseSizes(const ColumnGeometry& geometry, const PaddedChannel& channel, size_t element_bytes)
      : offsets(AlignUp(static_cast<size_t>(geometry.taps()) * sizeof(int64_t))),
        slot(AlignUp(static_cast<size_t>(channel.size) * element_bytes)) {}
};

// The offset of each tap's first element from that of the first tap.
void FillOffsets(const ColumnGeometry& geometry, const PaddedChannel& channel, int64_t* offsets) {
  const size_t last = geometry.axes.size() - 1;
  const int64_t taps = geometry.taps();
  for (int64_t t = 0; t < taps; ++t) {
    int64_t rest = t, row = 0, stride = 1;
    const int64_t element = rest % geometry.axes[last].kernel * geometry.axes[last].dilation;
    rest /= geometry.axes[last].kernel;
    for (size_t i = last; i-- > 0; rest /= geometry.axes[i].kernel) {
      row += rest % geometry.axes[i].kernel * geometry.axes[i].dilation * stride;
      stride *= channel.extents[i];
    }
    const int64_t step = geometry.axes[last].stride;
    offsets[t] = row * channel.row + element % step * channel.phase + element / step;
  }
}

// Copies a channel between the zeros of its padding.
template <class T>
void PadChannel(const ColumnGeometry& geometry, const PaddedChannel& channel, const T* x, T* padded) {
  const size_t last = geometry.axes.size() - 1;
  const WindowAxis& axis = geometry.axes[last];
  const int64_t width = geometry.wide[last], rows = geometry.wide_size() / width;
  for (int64_t r = 0; r < rows; ++r) {
    int64_t rest = r, row = 0, stride = 1;
    bool seen = true;
    for (size_t i = last; i-- > 0; rest /= geometry.wide[i]) {
      const int64_t at = rest % geometry.wide[i] + geometry.axes[i].pad_begin;
      seen = seen && at < channel.extents[i];
      row += at * stride;
      stride *= channel.extents[i];
    }
    if (!seen) continue;
    for (int64_t phase = 0; phase < axis.stride; ++phase) {
      // Element i of the phase is at phase + i * stride - pad_begin in the input.
      const int64_t offset = phase - axis.pad_begin;
      const int64_t first = offset < 0 ? (-offset + axis.stride - 1) / axis.stride : 0;
      const int64_t stop = std::min(channel.phase, offset >= width ? 0 : (width - 1 - offset) / axis.stride + 1);
      T* to = padded + row * channel.row + phase * channel.phase;
      const int64_t from = r * width + offset;
      if (axis.stride == 1) {
        if (stop > first) std::copy(x + from + first, x + from + stop, to + first);
      } else {
        for (int64_t i = first; i < stop; ++i) to[i] = x[from + i * axis.stride];
      }
    }
  }
}

// The sums of one channel, slab by slab of the two innermost axes.
template <class T>
void SumChannel(const ColumnGeometry& geometry, const PaddedChannel& channel, linalg::TapsArgs<T> sum) {
  const size_t last = geometry.axes.size() - 1;
  const T* padded = sum.x;
  sum.count = sum.y_step = geometry.narrow[last];
  sum.taps = geometry.taps();
  sum.rows = last == 0 ? 1 : geometry.narrow[last - 1];
  sum.x_step = last == 0 ? 0 : geometry.axes[last - 1].stride * channel.row;
  const int64_t slabs = geometry.narrow_size() / (sum.rows * sum.count);
  const int64_t row_steps = StepsOf(sum.count, sum.taps) / kStepsOfVector + 1;
  ForEachUntilEnd(0, slabs, StepsOf(sum.rows, row_steps), [&](int64_t slab) {
    int64_t rest = slab, row = 0, stride = last == 0 ? 1 : channel.extents[last - 1];
    for (size_t i = last; i-- > 1; rest /= geometry.narrow[i - 1]) {
      row += rest % geometry.narrow[i - 1] * geometry.axes[i - 1].stride * stride;
      stride *= channel.extents[i - 1];
    }
    sum.x = padded + row * channel.row;
    InPartsOf(sum.rows, row_steps, [&](int64_t begin, int64_t end) {
      linalg::TapsArgs<T> band = sum;
      band.rows = end - begin;
      band.x += begin * sum.x_step;
      band.y += begin * sum.y_step;
      if (row_steps <= kStepsOfPart) return linalg::SumTaps(band);
      InPartsOf(sum.count, sum.taps / kStepsOfVector + 1, [&](int64_t left, int64_t right) {  // one row
        linalg::TapsArgs<T> piece = band;
        piece.count = right - left;
        piece.x += left;
        piece.y += left;
        linalg::SumTaps(piece);
      });
    });
    sum.y += sum.rows * sum.count;
  });
}

std::optional<PaddedChannel> LayoutOf(const ConvolutionShape& shape) {
  const ColumnGeometry geometry = GeometryOf(shape);
  return geometry.wide_size() > 0 ? PaddedChannel::Of(geometry) : std::nullopt;
}

// The least number of planes for a thread.
int64_t PlaneGrain(const ConvolutionShape& shape, const ColumnGeometry& geometry) {
  constexpr int64_t kLeastWork = 32768;
  const int64_t filters = shape.out_channels / shape.group;
  return std::max<int64_t>(1, kLeastWork / std::max<int64_t>(1, geometry.narrow_size() * geometry.taps() * filters));
}

template <class T>
void ConvolvePlanes(const ConvolutionShape& shape, const T* x, const T* weights, const T* bias, T* y, void* workspace,
                    ThreadPool& pool) {
  const ColumnGeometry geometry = GeometryOf(shape);
  const int64_t in_size = geometry.wide_size(), out_size = geometry.narrow_size(), taps = geometry.taps();
  const int64_t filters = shape.out_channels / shape.group;
  linalg::PlaneArgs<T> plane;
  DescribePlane(shape, plane);
  plane.zeros = static_cast<const T*>(workspace);
  std::memset(workspace, 0, static_cast<size_t>(plane.in[1]) * sizeof(T));
  // A band of rows, or a part of one row, must not take long.
  constexpr int64_t kMostWork = int64_t{1} << 26, kVector = 16;
  const int64_t row_work = StepsOf(std::max<int64_t>(1, plane.out[1]), taps);
  const int64_t band_rows = std::max<int64_t>(1, kMostWork / row_work);
  const int64_t part = row_work <= kMostWork ? plane.out[1] : std::max(kVector, kMostWork / taps / kVector * kVector);
  pool.ParallelFor(shape.batch * shape.group, PlaneGrain(shape, geometry), [&](int64_t begin, int64_t end) {
    linalg::PlaneArgs<T> one = plane;
    for (int64_t image = begin; image < end; ++image) {
      one.x = x + image * in_size;
      ForEachUntilEnd(0, filters, StepsOf(plane.out[0], row_work) / kStepsOfVector, [&](int64_t f) {
        const int64_t filter = image % shape.group * filters + f;
        one.weights = weights + filter * taps;
        one.bias = bias == nullptr ? T(0) : bias[filter];
        one.y = y + (image * filters + f) * out_size;
        InParts(plane.out[0], band_rows, [&](int64_t first, int64_t stop) {
          linalg::PlaneArgs<T> band = one;
          band.out[0] = stop - first;
          band.y += first * plane.out[1];
          band.pads[0] -= first * plane.strides[0];
          if (part == plane.out[1]) return linalg::ConvolvePlane(band);
          InParts(plane.out[1], part, [&](int64_t left, int64_t right) {  // one row
            linalg::PlaneArgs<T> piece = band;
            piece.out[1] = right - left;
            piece.y += left;
            piece.pads[1] -= left * plane.strides[1];
            linalg::ConvolvePlane(piece);
          });
        });
      });
    }
  });
}

// Other strides and more axes: sums over a padded copy of the channel.
template <class T>
void ConvolvePadded(const ConvolutionShape& shape, const PaddedChannel& channel, const T* x, const T* weights,
                    const T* bias, T* y, void* workspace, ThreadPool& pool) {
  const ColumnGeometry geometry = GeometryOf(shape);
  const int64_t in_size = geometry.wide_size(), out_size = geometry.narrow_size(), taps = geometry.taps();
  const int64_t filters = shape.out_channels / shape.group, images = shape.batch * shape.group;
  const DepthwiseSizes sizes(geometry, channel, sizeof(T));
  int64_t* offsets = static_cast<int64_t*>(workspace);
  char* slots = static_cast<char*>(workspace) + sizes.offsets;
  FillOffsets(geometry, channel, offsets);
  // The padding stays zero when the channel changes.
  std::memset(slots, 0, static_cast<size_t>(SlotCount(pool, images)) * sizes.slot);
  ForEachInSlots(pool, images, [&](int64_t image, int64_t slot) {
    T* padded = reinterpret_cast<T*>(slots + static_cast<size_t>(slot) * sizes.slot);
    PadChannel(geometry, channel, x + image * in_size, padded);
    ForEachUntilEnd(0, filters, StepsOf(out_size, taps) / kStepsOfVector, [&](int64_t f) {
      const int64_t filter = image % shape.group * filters + f;
      linalg::TapsArgs<T> sum;
      sum.x = padded;
      sum.offsets = offsets;
      sum.weights = weights + filter * taps;
      sum.bias = bias == nullptr ? T(0) : bias[filter];
      sum.y = y + (image * filters + f) * out_size;
      SumChannel(geometry, channel, sum);
    });
  });
}

}  // namespace

bool IsDepthwise(const ConvolutionShape& shape) {
  return shape.in_channels == shape.group && shape.group > 1 && GeometryOf(shape).wide_size() > 0 &&
         (IsPlainPlane(shape.window) || LayoutOf(shape).has_value());
}

template <class T>
size_t DepthwiseWorkspace(const ConvolutionShape& shape, const ThreadPool& pool) {
  if (IsPlainPlane(shape.window)) return AlignUp(static_cast<size_t>(shape.in[shape.window.rank - 1]) * sizeof(T));
  const DepthwiseSizes sizes(GeometryOf(shape), *LayoutOf(shape), sizeof(T));
  return sizes.offsets + static_cast<size_t>(SlotCount(pool, shape.batch * shape.group)) * sizes.slot;
}

template <class T>
void ConvolveDepthwise(const ConvolutionShape& shape, const T* x, const T* weights, const T* bias, T* y,
                       void* workspace, ThreadPool& pool) {
  if (IsPlainPlane(shape.window))
    ConvolvePlanes(shape, x, weights, bias, y, workspace, pool);
  else
    ConvolvePadded(shape, *LayoutOf(shape), x, weights, bias, y, workspace, pool);
}

template size_t DepthwiseWorkspace<float>(const ConvolutionShape&, const ThreadPool&);
template size_t DepthwiseWorkspace<double>(const ConvolutionShape&, const ThreadPool&);
template void ConvolveDepthwise(const ConvolutionShape&, const float*, const float*, const float*, float*, void*,
                                ThreadPool&);
template void ConvolveDepthwise(const ConvolutionShape&, const double*, const double*, const double*, double*, void*,
                                ThreadPool&);

}  // namespace deputy::host
