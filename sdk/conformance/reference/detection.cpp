// Operators of detectors: regions of a feature map pooled to one size, and selection among boxes that overlap.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "reference/node.hpp"

namespace deputy::conformance::reference {
namespace {

// Between four elements of a plane; 0 beyond one element outside. `shares` gets the four weighted elements.
double Interpolated(const Tensor& x, int64_t plane, double row, double column, double (&shares)[4]) {
  const int64_t height = x.dims[2], width = x.dims[3];
  std::fill(std::begin(shares), std::end(shares), 0.0);
  if (row < -1 || row > static_cast<double>(height) || column < -1 || column > static_cast<double>(width)) return 0;
  row = std::clamp(row, 0.0, static_cast<double>(height - 1));
  column = std::clamp(column, 0.0, static_cast<double>(width - 1));
  const auto top = static_cast<int64_t>(row), left = static_cast<int64_t>(column);
  const int64_t bottom = std::min(top + 1, height - 1), right = std::min(left + 1, width - 1);
  const double down = row - static_cast<double>(top), across = column - static_cast<double>(left);
  const auto at = [&](int64_t r, int64_t c) { return x.Get((plane * height + r) * width + c); };
  shares[0] = (1 - down) * (1 - across) * at(top, left);
  shares[1] = (1 - down) * across * at(top, right);
  shares[2] = down * (1 - across) * at(bottom, left);
  shares[3] = down * across * at(bottom, right);
  return std::accumulate(std::begin(shares), std::end(shares), 0.0);
}

std::vector<Tensor> RoiAlign(const Node& node, const Inputs& in) {
  const Tensor &x = *in[0], &rois = *in[1];
  const int64_t height = node.Int("output_height", 1), width = node.Int("output_width", 1);
  const int64_t ratio = node.Int("sampling_ratio", 0), channels = x.dims[1];
  const double scale = node.Float("spatial_scale", 1.0f);
  // Before definition 16 nothing is shifted by half a pixel.
  const bool half =
      node.since_version >= 16 && node.String("coordinate_transformation_mode", "half_pixel") == "half_pixel";
  const bool largest = node.String("mode", "avg") == "max";
  Tensor y(x.dtype, {rois.dims[0], channels, height, width});
  for (int64_t i = 0; i < y.count(); ++i) {
    const Dims at = IndexOf(y.dims, i);
    const auto corner = [&](int64_t which) { return rois.Get(at[0] * 4 + which) * scale - (half ? 0.5 : 0); };
    double roi_width = corner(2) - corner(0), roi_height = corner(3) - corner(1);
    if (!half) roi_width = std::max(roi_width, 1.0);
    if (!half) roi_height = std::max(roi_height, 1.0);
    const double bin_width = roi_width / static_cast<double>(width),
                 bin_height = roi_height / static_cast<double>(height);
    const int64_t rows = ratio > 0 ? ratio : static_cast<int64_t>(std::ceil(bin_height));
    const int64_t columns = ratio > 0 ? ratio : static_cast<int64_t>(std::ceil(bin_width));
    const int64_t plane = static_cast<int64_t>(in[2]->Get(at[0])) * channels + at[1];
    double sum = 0, best = -std::numeric_limits<double>::infinity();
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c) {
        const double row = corner(1) + bin_height * (static_cast<double>(at[2]) +
                                                     (static_cast<double>(r) + 0.5) / static_cast<double>(rows));
        const double column = corner(0) + bin_width * (static_cast<double>(at[3]) +
                                                       (static_cast<double>(c) + 0.5) / static_cast<double>(columns));
        double shares[4];
        sum += Interpolated(x, plane, row, column, shares);
        // The definition's maximum is that of the four weighted elements, not of their sum.
        best = std::max(best, *std::max_element(std::begin(shares), std::end(shares)));
      }
    const double count = static_cast<double>(std::max<int64_t>(1, rows * columns));
    y.Put(i, largest ? best : sum / count);
  }
  return {y};
}

std::vector<Tensor> MaxRoiPool(const Node& node, const Inputs& in) {
  const Tensor &x = *in[0], &rois = *in[1];
  const Dims pooled = node.Ints("pooled_shape", {1, 1});
  const double scale = node.Float("spatial_scale", 1.0f);
  Tensor y(x.dtype, {rois.dims[0], x.dims[1], pooled[0], pooled[1]});
  for (int64_t i = 0; i < y.count(); ++i) {
    const Dims at = IndexOf(y.dims, i);
    const auto number = [&](int64_t which) { return rois.Get(at[0] * 5 + which); };
    int64_t begin[2], end[2];  // rows, columns
    for (const int64_t d : {0, 1}) {
      const auto first = static_cast<int64_t>(std::round(number(2 - d) * scale));
      const auto last = static_cast<int64_t>(std::round(number(4 - d) * scale));
      const auto axis = static_cast<size_t>(d);
      const double bin =
          static_cast<double>(std::max<int64_t>(last - first + 1, 1)) / static_cast<double>(pooled[axis]);
      const auto cell = static_cast<double>(at[axis + 2]);
      const int64_t extent = x.dims[axis + 2];
      begin[d] = std::clamp<int64_t>(first + static_cast<int64_t>(std::floor(cell * bin)), 0, extent);
      end[d] = std::clamp<int64_t>(first + static_cast<int64_t>(std::ceil((cell + 1) * bin)), 0, extent);
    }
    double best = begin[0] < end[0] && begin[1] < end[1] ? -std::numeric_limits<double>::infinity() : 0;
    for (int64_t row = begin[0]; row < end[0]; ++row)
      for (int64_t column = begin[1]; column < end[1]; ++column)
        best = std::max(best, x.Get(Flat(x.dims, {static_cast<int64_t>(number(0)), at[1], row, column})));
    y.Put(i, best);
  }
  return {y};
}

struct Box {
  double top, left, bottom, right;

  double Area() const { return (bottom - top) * (right - left); }
};

Box BoxAt(const Tensor& boxes, int64_t at, bool centered) {
  const double a = boxes.Get(at * 4), b = boxes.Get(at * 4 + 1), c = boxes.Get(at * 4 + 2), d = boxes.Get(at * 4 + 3);
  if (centered) return {b - d / 2, a - c / 2, b + d / 2, a + c / 2};
  return {std::min(a, c), std::min(b, d), std::max(a, c), std::max(b, d)};
}

// The intersection over the union.
double Overlap(const Box& a, const Box& b) {
  const double height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  const double width = std::min(a.right, b.right) - std::max(a.left, b.left);
  if (height <= 0 || width <= 0) return 0;
  return height * width / (a.Area() + b.Area() - height * width);
}

std::vector<Tensor> NonMaxSuppression(const Node& node, const Inputs& in) {
  const Tensor &boxes = *in[0], &scores = *in[1];
  const bool centered = node.Int("center_point_box", 0) != 0;
  const int64_t most = At(in, 2) == nullptr ? 0 : static_cast<int64_t>(in[2]->Get(0));
  const double overlap = At(in, 3) == nullptr ? 0 : in[3]->Get(0);
  const int64_t batches = scores.dims[0], classes = scores.dims[1], count = scores.dims[2];
  std::vector<int64_t> chosen;  // batch, class, box; again and again
  for (int64_t row = 0; row < batches * classes; ++row) {
    std::vector<int64_t> order, kept;
    for (int64_t i = 0; i < count; ++i)
      if (At(in, 4) == nullptr || scores.Get(row * count + i) > in[4]->Get(0)) order.push_back(i);
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t a, int64_t b) { return scores.Get(row * count + a) > scores.Get(row * count + b); });
    for (const int64_t candidate : order) {
      if (static_cast<int64_t>(kept.size()) >= most) break;
      const auto box = [&](int64_t i) { return BoxAt(boxes, row / classes * count + i, centered); };
      const bool covered = std::any_of(kept.begin(), kept.end(),
                                       [&](int64_t other) { return Overlap(box(other), box(candidate)) > overlap; });
      if (!covered) kept.push_back(candidate);
    }
    for (const int64_t i : kept) chosen.insert(chosen.end(), {row / classes, row % classes, i});
  }
  Tensor y(DEPUTY_DTYPE_INT64, {static_cast<int64_t>(chosen.size()) / 3, 3});
  y.whole = chosen;
  return {y};
}

}  // namespace

KernelRows DetectionKernels() {
  return {{"MaxRoiPool", MaxRoiPool}, {"NonMaxSuppression", NonMaxSuppression}, {"RoiAlign", RoiAlign}};
}

}  // namespace deputy::conformance::reference
