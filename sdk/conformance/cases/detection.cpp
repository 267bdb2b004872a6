// Regions pooled to one size, and the choice among boxes that overlap.
#include "cases/families.hpp"
#include "definitions.hpp"

namespace deputy::conformance {
namespace {

Tensor Filled(deputy_dtype dtype, const Dims& dims, const std::vector<double>& values) {
  Tensor made(dtype, dims);
  for (int64_t i = 0; i < made.count(); ++i) made.Put(i, values[static_cast<size_t>(i)]);
  return made;
}

// Inside, at the edge, beyond it, and smaller than an element.
Tensor Regions(deputy_dtype dtype) {
  return Filled(dtype, {4, 4}, {0.5, 1, 4.25, 5.5, 2, 0, 7, 8, 5.25, 4, 9.5, 10, 3, 3, 3.25, 3.5});
}

void AddRoiAlign(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder b(cases, "RoiAlign", seed);
  const auto add = [&](deputy_dtype t) -> CaseBuilder& {
    b.In(b.Random(t, {2, 3, 8, 7})).In(Regions(t)).In(Filled(kI64, {4}, {0, 1, 1, 0}));
    return b.Quietly("output_height", Int(2)).Quietly("output_width", Int(3));
  };
  for (const deputy_dtype dtype : TypesOf("RoiAlign")) add(dtype).Add();
  add(kF32).With("sampling_ratio", Int(2)).Add();
  add(kF32).With("spatial_scale", Float(0.5f)).Add();
  add(kF32).With("mode", Text("max")).Add();
  add(kF32).With("mode", Text("max")).With("sampling_ratio", Int(2)).Add();
  add(kF32).With("coordinate_transformation_mode", Text("output_half_pixel")).Add();
  add(kF32).With("coordinate_transformation_mode", Text("output_half_pixel")).With("mode", Text("max")).Add();
  add(kF32).With("output_height", Int(5)).Add();
  add(kF32).With("output_width", Int(1)).Add();
  b.In(b.Random({1, 2, 4, 4})).In(Tensor(kF32, {0, 4})).In(Tensor(kI64, {0})).Note("shape=empty").Add();
}

void AddMaxRoiPool(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder b(cases, "MaxRoiPool", seed);
  const auto add = [&](deputy_dtype t) -> CaseBuilder& {
    b.In(b.Distinct(t, {2, 1, 8, 7}));
    b.In(Filled(t, {4, 5}, {0, 1, 1, 4, 5, 1, 0, 0, 6, 7, 1, 5, 4, 6, 6, 0, 3, 3, 3, 3}));
    return b.Quietly("pooled_shape", Ints({2, 2}));
  };
  for (const deputy_dtype dtype : TypesOf("MaxRoiPool")) add(dtype).Add();
  add(kF32).With("pooled_shape", Ints({3, 1})).Add();
  add(kF32).With("spatial_scale", Float(0.75f)).Add();
}

void AddNonMaxSuppression(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder b(cases, "NonMaxSuppression", seed);
  // Boxes of sizes from 1 to 3 in a field of 4, so that some overlap and some do not.
  const auto boxes = [&](int64_t batch, int64_t count, bool centered) {
    Tensor made(kF32, {batch, count, 4});
    for (int64_t i = 0; i < batch * count; ++i) {
      const Tensor corner = b.Random(kF32, {2}, 0, 4), size = b.Random(kF32, {2}, 1, 3);
      for (const int64_t d : {0, 1}) {
        made.Put(i * 4 + d, corner.Get(d));
        made.Put(i * 4 + 2 + d, centered ? size.Get(d) : corner.Get(d) + size.Get(d));
      }
    }
    return made;
  };
  const auto add = [&](int64_t batch, int64_t classes, int64_t count, bool centered = false) -> CaseBuilder& {
    return b.In(boxes(batch, count, centered)).In(b.Distinct(kF32, {batch, classes, count}));
  };
  add(1, 1, 6).Const(Whole({3})).Const(Real({0.4375})).Add();
  add(2, 3, 8).Const(Whole({4})).Const(Real({0.4375})).Note("shape=[2,8,4]*[2,3,8]").Add();
  add(1, 2, 8).Const(Whole({8})).Const(Real({0.4375})).Const(Real({-0.03125})).Note("input=score_threshold").Add();
  add(1, 1, 8).Const(Whole({8})).Note("iou_threshold=none").Add();
  add(1, 1, 8).Note("max_output_boxes_per_class=none").Add();
  add(1, 1, 8).Const(Whole({8})).Const(Real({1})).Note("iou_threshold=1").Add();
  add(1, 1, 8, true).Const(Whole({8})).Const(Real({0.3125})).With("center_point_box", Int(1)).Add();
  Tensor turned = boxes(1, 6, false);
  for (int64_t i = 0; i < 6; i += 2)
    for (const int64_t d : {0, 1})
      std::swap(turned.real[static_cast<size_t>(i * 4 + d)], turned.real[static_cast<size_t>(i * 4 + 2 + d)]);
  b.In(turned).In(b.Distinct(kF32, {1, 1, 6})).Const(Whole({6})).Const(Real({0.3125})).Note("corners=exchanged").Add();
  add(1, 1, 1).Const(Whole({3})).Const(Real({0.5})).Note("shape=[1,1,4]*[1,1,1]").Add();
  // None overlaps another one, so that all of them are selected.
  constexpr int64_t kMany = 1500;
  Tensor apart(kF32, {1, kMany, 4});
  for (int64_t i = 0; i < kMany * 4; ++i) apart.Put(i, static_cast<double>(i / 4 * 2 + (i % 4 < 2 ? 0 : 1)));
  b.In(apart).In(b.Distinct(kF32, {1, 1, kMany})).Const(Whole({kMany})).Const(Real({0.5}));
  b.Note("shape=[1,1500,4]*[1,1,1500]").Add();
}

}  // namespace

void AddDetectionCases(std::vector<Case>& cases, uint64_t seed) {
  AddRoiAlign(cases, seed);
  AddMaxRoiPool(cases, seed);
  AddNonMaxSuppression(cases, seed);
}

}  // namespace deputy::conformance
