// Resize and Upsample: modes, transformations, forms of the size.
#include <algorithm>

#include "random/families.hpp"

namespace deputy::conformance {
namespace {

// Scales with exact quotients and sums, so that positions are exact.
double DrawScale(Draft& d) { return d.Pick<double>({0.5, 0.25, 0.75, 1, 1, 1.5, 2, 2.5, 3, 4}); }

// A size that gives such a scale.
int64_t DrawSize(Draft& d, int64_t extent) {
  return extent % 2 == 0 && d.Once(3) ? extent / 2 : extent * d.Between(1, 3);
}

deputy_dtype SmoothType(Draft& d, bool smooth) {
  if (!smooth) return d.Type();
  return d.RealType();
}

void WriteResize(Draft& d) {
  std::vector<std::string> modes = {"nearest", "linear"};
  if (d.since() >= 11) modes.emplace_back("cubic");
  const std::string mode = d.Pick(modes);
  const deputy_dtype dtype = SmoothType(d, mode != "nearest");
  Dims dims = d.FullShape(1, mode == "nearest" ? 6 : 4);
  const size_t rank = dims.size();
  if (mode != "nearest" || d.Half()) d.Set("mode", Text(mode));
  if (d.since() < 11) {
    std::vector<double> scales;
    for (const int64_t extent : dims) {
      const double scale = DrawScale(d);
      scales.push_back(static_cast<double>(extent) * scale < 1 ? 1 : scale);
    }
    d.In(d.Values(dtype, dims)).In(Real(scales));
    return;
  }
  std::vector<std::string> transformations = {"half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric",
                                              "tf_crop_and_resize"};
  const bool nearest = mode == "nearest", sized = d.Half();
  // With an extent that was rounded down its positions are whole except for a rounding error.
  if (d.since() >= 19 && (sized || !nearest)) transformations.emplace_back("half_pixel_symmetric");
  const std::string transformation = d.Pick(transformations);
  const bool crop = transformation == "tf_crop_and_resize";
  const bool stretched = crop || (nearest && transformation == "half_pixel_symmetric");
  if (transformation != "half_pixel" || d.Half()) d.Set("coordinate_transformation_mode", Text(transformation));
  if (nearest)
    d.Maybe("nearest_mode", Text(d.Pick<std::string>({"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"})));
  if (mode == "cubic") d.Maybe("cubic_coeff_a", Number(d, -1, -0.25)).Maybe("exclude_outside", Int(d.Between(0, 1)));
  if (mode != "nearest" && !crop) d.Maybe("antialias", Int(d.Between(0, 1)));
  // Within the range of every element type.
  if (crop) d.Maybe("extrapolation_value", Number(d, reference::IsReal(dtype) ? -3 : 0, 3));
  std::vector<int64_t> axes;
  const bool named = d.Has("axes") && d.Half();
  const auto count = named ? static_cast<size_t>(d.Between(1, static_cast<int64_t>(rank))) : rank;
  for (size_t i = 0; i < rank; ++i) axes.push_back(static_cast<int64_t>(i));
  if (named) d.Set("axes", Ints(axes = d.Axes(rank, count)));
  std::vector<double> scales, roi(2 * count, 0);
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < count; ++i) {
    const int64_t extent = dims[reference::FromFront(axes[i], rank)];
    roi[i] = crop && d.Half() ? 0.25 : 0;
    roi[i + count] = crop && d.Half() ? d.Pick<double>({0.75, 1.25}) : 1;
    const double scale = DrawScale(d);
    scales.push_back(static_cast<double>(extent) * (roi[i + count] - roi[i]) * scale < 1 ? 2 : scale);
    sizes.push_back(nearest ? DrawSize(d, extent) : d.Between(1, 6));
    if (static_cast<double>(extent) * (roi[i + count] - roi[i]) * scales[i] < 1) scales[i] = 8;
  }
  d.In(d.Values(dtype, dims));
  if (crop)
    d.In(Real(roi));
  else if (d.since() >= 13)
    d.None();
  else
    d.In(Real({}));
  if (!sized) {
    d.In(Real(scales));
    return;
  }
  if (d.since() >= 13)
    d.None();
  else
    d.In(Real({}));
  d.In(Whole(sizes));
  if (!stretched)
    d.Maybe("keep_aspect_ratio_policy", Text(d.Pick<std::string>({"stretch", "not_larger", "not_smaller"})));
}

void WriteUpsample(Draft& d) {
  const bool linear = d.Once(3);
  const deputy_dtype dtype = SmoothType(d, linear);
  const Dims dims = d.since() < 7 ? d.FullShape(4, 4) : d.FullShape(1, linear ? 4 : 6);
  const auto scale = [&] { return d.Pick<double>({1, 1, 1.5, 2, 3}); };
  d.In(d.Values(dtype, dims));
  if (linear || d.Half()) d.Set("mode", Text(linear ? (d.since() < 7 ? "bilinear" : "linear") : "nearest"));
  if (d.since() < 7) {
    d.Set("height_scale", Float(static_cast<float>(scale())));
    d.Set("width_scale", Float(static_cast<float>(scale())));
    return;
  }
  std::vector<double> scales(dims.size(), 1);
  for (double& one : scales) one = scale();
  if (d.since() >= 9)
    d.In(Real(scales));
  else
    d.Set("scales", Attribute::Floats(std::vector<float>(scales.begin(), scales.end())));
}

}  // namespace

DraftRows ResizeDrafts() { return {{"Resize", WriteResize}, {"Upsample", WriteUpsample}}; }

}  // namespace deputy::conformance
