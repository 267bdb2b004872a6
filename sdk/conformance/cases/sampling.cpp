// GridSample, AffineGrid and DeformConv: positions inside, at the edge and outside, each with its padding mode.
#include "cases/families.hpp"
#include "definitions.hpp"

namespace deputy::conformance {
namespace {

void AddGridSample(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder b(cases, "GridSample", seed);
  // Not a multiple of half the distance of elements, so that no position is a tie.
  const auto grid = [&](deputy_dtype t, const Dims& dims, double limit) {
    Tensor made = b.Random(t, dims, -limit, limit);
    for (int64_t i = 0; i < made.count(); ++i) made.Put(i, made.Get(i) + 0.0078125);
    return made;
  };
  const auto add = [&](const Dims& x, const Dims& points, double limit) -> CaseBuilder& {
    return b.In(b.Random(x)).In(grid(kF32, points, limit));
  };
  const Dims x = {2, 3, 5, 4}, points = {2, 6, 3, 2};
  add(x, points, 0.75).Add();
  for (const char* mode : {"nearest", "cubic"}) add(x, points, 0.75).With("mode", Text(mode)).Add();
  for (const deputy_dtype dtype : TypesOf("GridSample")) {
    if (dtype == kF32) continue;
    b.In(b.Random(dtype, x)).In(grid(reference::IsReal(dtype) ? dtype : deputy_dtype{kF32}, points, 0.75));
    if (!reference::IsReal(dtype)) b.Quietly("mode", Text("nearest"));
    b.Add();
  }
  add(x, points, 0.75).With("align_corners", Int(1)).Add();
  for (const char* mode : {"linear", "nearest", "cubic"})
    for (const char* padding : {"zeros", "border", "reflection"})
      for (const int64_t corners : {0, 1}) {
        // Between the edge and the outermost elements ONNX does not fully define a cubic filter.
        const bool cubic = *mode == 'c' && *padding != 'z';
        add(x, points, cubic ? 0.75 : 1.75).With("mode", Text(mode)).With("padding_mode", Text(padding));
        b.With("align_corners", Int(corners)).Note(cubic ? "inside" : "outside").Add();
      }
  const Dims volume = {1, 2, 3, 4, 5}, places = {1, 2, 3, 4, 3};
  add(volume, places, 0.75).Note("rank=5").Add();
  add(volume, places, 1.5).With("mode", Text("nearest")).With("padding_mode", Text("border")).Note("rank=5").Add();
  add(volume, places, 1.5).With("padding_mode", Text("reflection")).With("align_corners", Int(1)).Note("rank=5").Add();
  for (const auto& [in, at] : std::vector<std::pair<Dims, Dims>>{
           {{1, 1, 1, 1}, {1, 1, 1, 2}}, {{1, 3, 7, 1}, {1, 4, 4, 2}}, {{0, 3, 5, 4}, {0, 6, 3, 2}}})
    add(in, at, 0.75).Note(ShapeNote(in)).Add();
}

void AddAffineGrid(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder b(cases, "AffineGrid", seed);
  for (const deputy_dtype dtype : TypesOf("AffineGrid"))
    b.In(b.Random(dtype, {2, 2, 3}, -1, 1)).Const(Whole({2, 3, 5, 4})).Add();
  b.In(b.Random({2, 2, 3})).Const(Whole({2, 3, 5, 4})).With("align_corners", Int(1)).Add();
  b.In(b.Random({2, 3, 4})).Const(Whole({2, 3, 4, 5, 6})).Note("rank=5").Add();
  b.In(b.Random({2, 3, 4})).Const(Whole({2, 3, 4, 5, 6})).With("align_corners", Int(1)).Note("rank=5").Add();
  b.In(b.Random({1, 2, 3})).Const(Whole({1, 1, 1, 7})).Note("shape=[1,1,1,7]").Add();
  b.In(b.Random({2, 2, 3})).In(Whole({2, 3, 5, 4})).Note("size=variable").Add();
}

void AddDeformConv(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder b(cases, "DeformConv", seed);
  // `out` are the spatial extents of the offsets and of the output.
  const auto add = [&](deputy_dtype t, const Dims& x, const Dims& w, int64_t moved, const Dims& out) -> CaseBuilder& {
    const int64_t taps = moved * w[2] * w[3];
    return b.In(b.Random(t, x)).Const(b.Random(t, w)).In(b.Random(t, {x[0], 2 * taps, out[0], out[1]}, -1.5, 1.5));
  };
  const Dims x = {2, 4, 6, 5}, w = {6, 4, 3, 2}, out = {4, 4};
  add(kF32, x, w, 1, out).Add();
  for (const deputy_dtype dtype : TypesOf("DeformConv"))
    if (dtype != kF32) add(dtype, x, w, 1, out).Add();
  add(kF32, x, w, 1, out).Const(b.Random({6})).Note("input=B").Add();
  add(kF32, x, w, 1, out).None().In(b.Random(kF32, {2, 6, 4, 4}, 0, 1)).Note("input=mask").Add();
  add(kF32, x, w, 1, {2, 4}).With("strides", Ints({2, 1})).Add();
  add(kF32, x, w, 1, {2, 2}).With("dilations", Ints({2, 3})).Add();
  add(kF32, x, w, 1, {6, 5}).With("pads", Ints({1, 0, 1, 1})).Add();
  add(kF32, x, w, 1, out).With("kernel_shape", Ints({3, 2})).Add();
  add(kF32, x, {6, 2, 3, 2}, 1, out).With("group", Int(2)).Add();
  add(kF32, x, w, 2, out).With("offset_group", Int(2)).Add();
  add(kF32, x, {6, 2, 3, 2}, 4, {2, 3}).Const(b.Random({6})).In(b.Random(kF32, {2, 24, 2, 3}, 0, 1));
  b.With("group", Int(2)).With("offset_group", Int(4)).With("strides", Ints({2, 2})).With("pads", Ints({0, 1, 0, 1}));
  b.Note("inputs=all").Add();
  add(kF32, {1, 1, 1, 1}, {1, 1, 1, 1}, 1, {1, 1}).Note("shape=[1,1,1,1]").Add();
}

}  // namespace

void AddSamplingCases(std::vector<Case>& cases, uint64_t seed) {
  AddGridSample(cases, seed);
  AddAffineGrid(cases, seed);
  AddDeformConv(cases, seed);
}

}  // namespace deputy::conformance
