// Values between elements: grids and regions inside, at the edge and outside.
#include "random/families.hpp"

namespace deputy::conformance {
namespace {

// Not a multiple of half the distance of elements, so that no position is a tie.
Tensor Grid(Draft& d, deputy_dtype dtype, const Dims& dims, double limit) {
  Tensor grid = d.Values(dtype, dims, -limit, limit);
  for (int64_t i = 0; i < grid.count(); ++i) grid.Put(i, grid.Get(i) + 0.0078125);
  return grid;
}

void WriteGridSample(Draft& d) {
  const bool words = d.since() >= 20;
  const std::string mode = d.Pick<std::string>({"linear", "nearest", "cubic"});
  const size_t rank = words && mode != "cubic" ? static_cast<size_t>(d.Between(1, 3)) : 2;
  const deputy_dtype dtype = mode == "nearest" ? d.Type() : d.RealType();
  const std::string padding = d.Pick<std::string>({"zeros", "border", "reflection"});
  const int64_t batch = d.Between(1, 2);
  Dims x = {batch, d.Between(1, 3)}, points = {batch};
  for (size_t i = 0; i < rank; ++i) {
    x.push_back(d.Between(2, 5));
    points.push_back(d.Between(1, 4));
  }
  points.push_back(static_cast<int64_t>(rank));
  // Between the edge and the outermost elements ONNX does not fully define a cubic filter.
  const double limit = mode == "cubic" && padding != "zeros" ? 0.5 : 1.75;
  d.In(d.Values(dtype, x)).In(Grid(d, reference::IsReal(dtype) ? dtype : kF32, points, limit));
  const std::string old = mode == "linear" ? "bilinear" : (mode == "cubic" ? "bicubic" : mode);
  if (mode != "linear" || d.Half()) d.Set("mode", Text(words ? mode : old));
  if (padding != "zeros" || d.Half()) d.Set("padding_mode", Text(padding));
  d.Maybe("align_corners", Int(d.Between(0, 1)));
}

void WriteAffineGrid(Draft& d) {
  const int64_t batch = d.Between(1, 2);
  const bool volume = d.Half();
  d.In(d.Values(d.Type(), volume ? Dims{batch, 3, 4} : Dims{batch, 2, 3}, -1, 1));
  std::vector<int64_t> size = {batch, d.Between(1, 3), d.Between(1, 5), d.Between(1, 5)};
  if (volume) size.push_back(d.Between(1, 5));
  d.In(Whole(size)).Maybe("align_corners", Int(d.Between(0, 1)));
}

void WriteRoiAlign(Draft& d) {
  const deputy_dtype dtype = d.Type();
  const int64_t batch = d.Between(1, 3), rois = d.Between(1, 4), height = d.Between(3, 9), width = d.Between(3, 9);
  Tensor boxes(dtype, {rois, 4}), images(kI64, {rois});
  for (int64_t i = 0; i < rois; ++i) {
    // A quarter away from every size at which the number of samples changes.
    const int64_t x = d.Between(0, width - 2), y = d.Between(0, height - 2);
    const std::vector<int64_t> box = {x, y, d.Between(x + 1, width), d.Between(y + 1, height)};
    for (int64_t k = 0; k < 4; ++k)
      boxes.Put(i * 4 + k, static_cast<double>(box[static_cast<size_t>(k)]) + (k < 2 ? 0.25 : 0.125));
    images.Put(i, d.Between(0, batch - 1));
  }
  d.In(d.Values(dtype, {batch, d.Between(1, 3), height, width})).In(boxes).In(images);
  d.Maybe("output_height", Int(d.Between(1, 3))).Maybe("output_width", Int(d.Between(1, 3)));
  d.Maybe("sampling_ratio", Int(d.Between(0, 3))).Maybe("mode", Text(d.Half() ? "avg" : "max"));
  d.Maybe("spatial_scale", Float(d.Half() ? 0.5f : 1.0f));
  d.Maybe("coordinate_transformation_mode", Text(d.Half() ? "half_pixel" : "output_half_pixel"));
}

}  // namespace

DraftRows SamplingDrafts() {
  return {{"AffineGrid", WriteAffineGrid}, {"GridSample", WriteGridSample}, {"RoiAlign", WriteRoiAlign}};
}

}  // namespace deputy::conformance
