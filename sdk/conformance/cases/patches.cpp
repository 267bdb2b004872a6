// Col2Im and MaxUnpool: windows that overlap, leave gaps, and exceed the edge.
#include "cases/families.hpp"
#include "definitions.hpp"

namespace deputy::conformance {
namespace {

Attribute Ints(std::vector<int64_t> values) { return Attribute::Ints(std::move(values)); }

void AddCol2Im(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder b(cases, "Col2Im", seed);
  const auto f = DEPUTY_DTYPE_FLOAT32;
  const auto add = [&](deputy_dtype t, const Dims& x, const Dims& image, const Dims& block) -> CaseBuilder& {
    return b.In(b.Random(t, x)).Const(Whole(image)).Const(Whole(block));
  };
  for (const deputy_dtype dtype : TypesOf("Col2Im")) add(dtype, {2, 12, 12}, {4, 5}, {2, 2}).Add();
  add(f, {1, 10, 5}, {5, 5}, {1, 5}).Note("block=[1,5]").Add();
  add(f, {1, 6, 4}, {6, 5}, {3, 2}).With("strides", Ints({2, 2})).Add();
  add(f, {1, 6, 8}, {6, 5}, {3, 2}).With("dilations", Ints({2, 1})).Add();
  add(f, {1, 6, 30}, {5, 5}, {3, 2}).With("pads", Ints({1, 0, 1, 2})).Add();
  add(f, {1, 6, 4}, {6, 5}, {3, 2})
      .With("strides", Ints({3, 2}))
      .With("dilations", Ints({1, 2}))
      .With("pads", Ints({0, 0, 1, 1}))
      .Add();
  add(f, {1, 6, 5}, {7}, {3}).Note("rank=1").Add();
  add(f, {1, 16, 8}, {3, 3, 3}, {2, 2, 2}).Note("rank=3").Add();
  add(f, {1, 1, 1}, {1, 1}, {1, 1}).Note("shape=[1,1,1]").Add();
}

void AddMaxUnpool(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder b(cases, "MaxUnpool", seed);
  const auto f = DEPUTY_DTYPE_FLOAT32;
  // Every window of extent 2 names one of its elements, here and there another one.
  const auto add = [&](deputy_dtype t, const Dims& x) -> CaseBuilder& {
    Tensor indices(DEPUTY_DTYPE_INT64, x);
    Dims large = x;
    for (size_t d = 2; d < x.size(); ++d) large[d] *= 2;
    for (int64_t i = 0; i < indices.count(); ++i) {
      Dims at = reference::IndexOf(x, i);
      for (size_t d = 2; d < x.size(); ++d) at[d] = 2 * at[d] + (i + static_cast<int64_t>(d)) % 2;
      indices.Put(i, reference::Flat(large, at));
    }
    return b.In(b.Random(t, x))
        .In(indices)
        .Quietly("kernel_shape", Ints(Dims(x.size() - 2, 2)))
        .Quietly("strides", Ints(Dims(x.size() - 2, 2)));
  };
  for (const deputy_dtype dtype : TypesOf("MaxUnpool")) add(dtype, {1, 2, 2, 3}).Add();
  for (const Dims& x : std::vector<Dims>{{2, 3, 4}, {1, 2, 2, 1, 2}, {1, 1, 1, 1}}) add(f, x).Note(ShapeNote(x)).Add();
  add(f, {1, 1, 2, 2}).Const(Whole({1, 1, 5, 6})).Note("input=output_shape").Add();
  Tensor corners(DEPUTY_DTYPE_INT64, {1, 1, 2, 2});
  corners.whole = {0, 3, 8, 11};
  b.In(b.Random({1, 1, 2, 2})).In(corners).With("kernel_shape", Ints({2, 3})).With("strides", Ints({1, 1})).Add();
  corners.whole = {0, 1, 2, 3};
  b.In(b.Random({1, 1, 2, 2})).In(corners).With("pads", Ints({0, 1, 1, 0}));
  b.Quietly("kernel_shape", Ints({2, 2})).Add();
}

}  // namespace

void AddPatchCases(std::vector<Case>& cases, uint64_t seed) {
  AddCol2Im(cases, seed);
  AddMaxUnpool(cases, seed);
}

}  // namespace deputy::conformance
