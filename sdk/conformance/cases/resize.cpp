// Resize: modes, transformations, ways to say the size.
#include "cases/families.hpp"
#include "definitions.hpp"

namespace deputy::conformance {
namespace {

void AddUpsample(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder b(cases, "Upsample", seed);
  for (const deputy_dtype dtype : TypesOf("Upsample"))
    b.In(b.Random(dtype, {1, 2, 4, 3})).Const(Real({1, 1, 2, 2})).Add();
  const auto scaled = [&](std::vector<double> scales) -> CaseBuilder& {
    return b.In(b.Random({1, 2, 4, 3})).Const(Real(std::move(scales)));
  };
  scaled({1, 1, 2, 2}).With("mode", Text("linear")).Add();
  scaled({1, 1, 3, 1}).Note("scales=[3,1]").Add();
  scaled({1, 1, 1.5, 2.5}).Note("scales=[1.5,2.5]").Add();
  scaled({1, 1, 3, 2}).With("mode", Text("linear")).Note("scales=[3,2]").Add();
  for (const Dims& shape : std::vector<Dims>{{5}, {3, 4}, {1, 1, 1, 1}})
    b.In(b.Random(shape)).Const(Real(std::vector<double>(shape.size(), 2))).Note(ShapeNote(shape)).Add();
}

}  // namespace

void AddResizeCases(std::vector<Case>& cases, uint64_t seed) {
  AddUpsample(cases, seed);
  CaseBuilder b(cases, "Resize", seed);
  const auto scaled = [&](std::vector<double> scales) -> CaseBuilder& {
    return b.In(b.Random({1, 2, 4, 6})).None().Const(Real(std::move(scales)));
  };
  const auto sized = [&](const Dims& sizes) -> CaseBuilder& {
    return b.In(b.Random({1, 2, 4, 6})).None().None().Const(Whole(sizes));
  };
  scaled({1, 1, 2, 2}).Add();
  for (const deputy_dtype dtype : TypesOf("Resize"))
    if (dtype != kF32) b.In(b.Random(dtype, {1, 2, 4, 6})).None().Const(Real({1, 1, 2, 2})).Add();
  scaled({1, 1, 0.5, 0.5}).Note("scales=half").Add();
  scaled({1, 1, 1.5, 2}).Note("scales=[1.5,2]").Add();
  scaled({1, 2, 1, 1}).Note("scales=channels").Add();
  sized({1, 2, 7, 3}).Note("sizes=[7,3]").Add();
  for (const char* mode : {"linear", "cubic"}) {
    scaled({1, 1, 2, 2}).With("mode", Text(mode)).Add();
    scaled({1, 1, 0.5, 0.5}).With("mode", Text(mode)).Note("scales=half").Add();
    sized({1, 2, 7, 4}).With("mode", Text(mode)).Note("sizes=[7,4]").Add();
  }
  for (const char* transformation : {"asymmetric", "align_corners", "pytorch_half_pixel", "half_pixel_symmetric"}) {
    sized({1, 2, 7, 4}).With("coordinate_transformation_mode", Text(transformation)).Add();
    sized({1, 2, 7, 4}).With("coordinate_transformation_mode", Text(transformation)).With("mode", Text("linear")).Add();
  }
  for (const char* nearest : {"floor", "ceil", "round_prefer_ceil"})
    sized({1, 2, 7, 4}).With("nearest_mode", Text(nearest)).Add();
  scaled({1, 1, 2, 2})
      .With("nearest_mode", Text("floor"))
      .With("coordinate_transformation_mode", Text("asymmetric"))
      .Add();
  scaled({1, 1, 2, 2}).Quietly("mode", Text("cubic")).With("cubic_coeff_a", Float(-0.5f)).Add();
  scaled({1, 1, 2, 2}).Quietly("mode", Text("cubic")).With("exclude_outside", Int(1)).Add();
  scaled({1, 1, 0.5, 0.5}).Quietly("mode", Text("linear")).With("antialias", Int(1)).Add();
  b.In(b.Random({1, 2, 4, 6})).None().Const(Real({2, 0.5})).With("axes", Ints({2, 3})).Add();
  b.In(b.Random({1, 2, 4, 6})).None().None().Const(Whole({7, 7}));
  b.With("keep_aspect_ratio_policy", Text("not_larger")).Quietly("axes", Ints({2, 3})).Add();
  b.In(b.Random({1, 2, 4, 6})).None().None().Const(Whole({7, 7}));
  b.With("keep_aspect_ratio_policy", Text("not_smaller")).Quietly("axes", Ints({2, 3})).Add();
  b.In(b.Random({1, 1, 4, 6})).Const(Real({0, 0, 0.25, 0.25, 1, 1, 1.25, 0.75})).None().Const(Whole({1, 1, 3, 3}));
  b.Quietly("mode", Text("linear")).With("coordinate_transformation_mode", Text("tf_crop_and_resize")).Add();
  b.In(b.Random({1, 1, 4, 6})).Const(Real({0, 0, 0.25, 0.25, 1, 1, 1.25, 0.75})).None().Const(Whole({1, 1, 3, 3}));
  b.Quietly("mode", Text("linear")).Quietly("coordinate_transformation_mode", Text("tf_crop_and_resize"));
  b.With("extrapolation_value", Float(3)).Add();
  for (const Dims& shape : std::vector<Dims>{{5}, {3, 4}, {2, 3, 4}})
    b.In(b.Random(shape)).None().Const(Real(std::vector<double>(shape.size(), 2))).Note(ShapeNote(shape)).Add();
}

}  // namespace deputy::conformance
