// Operators that move elements: each with every element type and every form of its parameters.
#include "cases/families.hpp"
#include "definitions.hpp"

namespace deputy::conformance {
namespace {

// Adds the case that `make` begins from the first input, once for each element type.
template <class Make>
void ForTypes(CaseBuilder& b, const Dims& x, const Make& make) {
  for (const deputy_dtype dtype : TypesOf(b.op_type())) {
    make(b.In(b.Random(dtype, x)), dtype);
    b.Add();
  }
}

void AddShapes(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder reshape(cases, "Reshape", seed), flatten(cases, "Flatten", seed);
  ForTypes(reshape, {2, 3, 4}, [](CaseBuilder& b, deputy_dtype) { b.Const(Whole({4, 6})); });
  const auto to = [&](const Dims& x, const Dims& shape) -> CaseBuilder& {
    return reshape.In(reshape.Random(x)).Const(Whole(shape)).Note("shape=" + TextOf(x) + "->" + TextOf(shape));
  };
  to({2, 3, 4}, {-1, 6}).Add();
  to({2, 3, 4}, {0, -1}).Add();
  to({2, 3, 4}, {24}).Add();
  to({1}, {}).Add();
  to({}, {1, 1}).Add();
  to({2, 3, 4}, {2, 1, 3, 2, 2}).Add();
  to({0, 3}, {3, 0}).With("allowzero", Int(1)).Add();
  ForTypes(flatten, {2, 3, 4}, [](CaseBuilder&, deputy_dtype) {});
  for (const int64_t axis : {0, 2, 3, -1}) flatten.In(flatten.Random({2, 3, 4})).With("axis", Int(axis)).Add();
  CaseBuilder squeeze(cases, "Squeeze", seed), unsqueeze(cases, "Unsqueeze", seed);
  ForTypes(squeeze, {2, 1, 3, 1}, [](CaseBuilder& b, deputy_dtype) { b.Const(Whole({1})); });
  for (const Dims& axes : std::vector<Dims>{{3}, {1, 3}, {-1}})
    squeeze.In(squeeze.Random({2, 1, 3, 1})).Const(Whole(axes)).Note("axes=" + TextOf(axes)).Add();
  squeeze.In(squeeze.Random({2, 1, 3, 1})).Note("axes=none").Add();
  ForTypes(unsqueeze, {2, 3}, [](CaseBuilder& b, deputy_dtype) { b.Const(Whole({1})); });
  for (const Dims& axes : std::vector<Dims>{{0}, {2}, {0, 3}, {-1}})
    unsqueeze.In(unsqueeze.Random({2, 3})).Const(Whole(axes)).Note("axes=" + TextOf(axes)).Add();
  unsqueeze.In(unsqueeze.Random({})).Const(Whole({0})).Note("shape=scalar").Add();
}

void AddTranspose(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder b(cases, "Transpose", seed);
  ForTypes(b, {2, 3, 4}, [](CaseBuilder&, deputy_dtype) {});
  for (const Dims& perm : std::vector<Dims>{{0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {0, 1, 2}})
    b.In(b.Random({2, 3, 4})).With("perm", Ints(perm)).Add();
  for (const Dims& perm : std::vector<Dims>{{0, 2, 3, 1}, {0, 3, 1, 2}, {3, 2, 1, 0}})
    b.In(b.Random({2, 3, 4, 5})).With("perm", Ints(perm)).Add();
  for (const Dims& shape : std::vector<Dims>{{}, {5}, {1, 1, 3}, {2, 0, 3}, {2, 3, 1, 2, 3}, {17, 33}})
    b.In(b.Random(shape)).Note(ShapeNote(shape)).Add();
}

void AddConcatAndSplit(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder b(cases, "Concat", seed);
  ForTypes(b, {2, 3, 4}, [](CaseBuilder& made, deputy_dtype t) {
    made.In(made.Random(t, {2, 2, 4})).Quietly("axis", Int(1));
  });
  b.In(b.Random({2, 3})).In(b.Random({4, 3})).With("axis", Int(0)).Add();
  b.In(b.Random({2, 3, 4})).In(b.Random({2, 3, 1})).With("axis", Int(2)).Add();
  b.In(b.Random({2, 3, 4})).In(b.Random({2, 3, 2})).With("axis", Int(-1)).Add();
  b.In(b.Random({2, 3})).Quietly("axis", Int(1)).Note("inputs=1").Add();
  b.In(b.Random({2, 3})).In(b.Random({2, 1})).In(b.Random({2, 5})).Quietly("axis", Int(1)).Note("inputs=3").Add();
  b.In(b.Random({2, 3})).Const(b.Random({2, 2})).Quietly("axis", Int(1)).Note("second=constant").Add();
  b.In(b.Random({2, 0})).In(b.Random({2, 3})).Quietly("axis", Int(1)).Note("shape=empty").Add();
  Tensor same = b.Random({2, 3});
  b.In(same).In(same).Quietly("axis", Int(1)).Note("values=equal").Add();
  CaseBuilder s(cases, "Split", seed);
  for (const deputy_dtype dtype : TypesOf("Split")) s.In(s.Random(dtype, {6, 2})).Const(Whole({2, 4})).Outputs(2).Add();
  s.In(s.Random({2, 6})).Const(Whole({1, 5})).With("axis", Int(1)).Outputs(2).Add();
  s.In(s.Random({2, 3, 6})).Const(Whole({1, 2, 3})).With("axis", Int(-1)).Outputs(3).Add();
  s.In(s.Random({6, 2})).With("num_outputs", Int(3)).Outputs(3).Add();
  s.In(s.Random({7, 2})).With("num_outputs", Int(3)).Outputs(3).Note("parts=unequal").Add();
  s.In(s.Random({2, 6})).Const(Whole({0, 6})).Quietly("axis", Int(1)).Outputs(2).Note("shape=empty").Add();
}

void AddSlice(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder b(cases, "Slice", seed);
  const auto add = [&](deputy_dtype t, const Dims& starts, const Dims& ends, const Dims& axes,
                       const Dims& steps) -> CaseBuilder& {
    b.In(b.Random(t, {5, 7, 4})).Const(Whole(starts)).Const(Whole(ends)).Const(Whole(axes));
    return steps.empty() ? b : b.Const(Whole(steps));
  };
  for (const deputy_dtype dtype : TypesOf("Slice")) add(dtype, {1}, {4}, {1}, {}).Add();
  add(kF32, {1, 2}, {4, 5}, {0, 1}, {}).Note("axes=[0,1]").Add();
  add(kF32, {1}, {3}, {-1}, {}).Note("axes=[-1]").Add();
  add(kF32, {-3}, {-1}, {1}, {}).Note("starts=[-3] ends=[-1]").Add();
  add(kF32, {1}, {100}, {1}, {}).Note("ends=[100]").Add();
  add(kF32, {0}, {7}, {1}, {2}).Note("steps=[2]").Add();
  add(kF32, {1, 0}, {5, 7}, {0, 1}, {2, 3}).Note("steps=[2,3]").Add();
  add(kF32, {6}, {1}, {1}, {-1}).Note("steps=[-1]").Add();
  add(kF32, {-1}, {-100}, {1}, {-2}).Note("steps=[-2]").Add();
  add(kF32, {4}, {2}, {1}, {}).Note("shape=empty").Add();
  b.In(b.Random({5, 7})).Const(Whole({1, 2})).Const(Whole({4, 6})).Note("axes=none").Add();
  b.In(b.Random({5, 7})).In(Whole({1, 2})).In(Whole({4, 6})).Note("limits=variable").Add();
}

void AddPad(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder b(cases, "Pad", seed);
  const auto add = [&](const Dims& x, const Dims& pads) -> CaseBuilder& {
    return b.In(b.Random(x)).Const(Whole(pads));
  };
  ForTypes(b, {3, 4}, [](CaseBuilder& made, deputy_dtype) { made.Const(Whole({1, 0, 0, 2})); });
  add({3, 4}, {1, 0, 0, 2}).Const(RealScalar(1.5)).Note("constant_value=1.5").Add();
  add({3, 4}, {0, 0, 0, 0}).Note("pads=0").Add();
  add({3, 4}, {-1, 0, 1, -2}).Note("pads=negative").Add();
  add({2, 3, 4, 5}, {0, 1, 2, 0, 1, 0, 0, 3}).Note("shape=[2,3,4,5]").Add();
  for (const char* mode : {"reflect", "edge", "wrap"}) add({4, 5}, {1, 2, 2, 1}).With("mode", Text(mode)).Add();
  b.In(b.Random({2, 3, 4})).Const(Whole({1, 2})).None().Const(Whole({1})).Note("axes=[1]").Add();
  b.In(b.Random({2, 3, 4})).Const(Whole({1, 0, 0, 2})).None().Const(Whole({-1, 0})).Note("axes=[-1,0]").Add();
  b.In(b.Random({3, 4})).In(Whole({1, 0, 0, 2})).Note("pads=variable").Add();
}

void AddCenterCropPad(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder b(cases, "CenterCropPad", seed);
  ForTypes(b, {4, 5}, [](CaseBuilder& made, deputy_dtype) { made.Const(Whole({6, 3})); });
  for (const Dims& shape : std::vector<Dims>{{4, 5}, {5, 6}, {7, 8}, {3, 4}, {2, 2}, {1, 9}})
    b.In(b.Random({4, 5})).Const(Whole(shape)).Note("shape=" + TextOf(shape)).Add();
  b.In(b.Random({2, 3, 4, 5})).Const(Whole({5, 2})).With("axes", Ints({1, 3})).Add();
  b.In(b.Random({2, 3, 4, 5})).Const(Whole({2, 5})).With("axes", Ints({-1, -3})).Add();
  b.In(b.Random({4, 5})).In(Whole({6, 3})).Note("shape=variable").Add();
}

void AddCrop(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder b(cases, "Crop", seed);
  for (const deputy_dtype dtype : TypesOf("Crop"))
    b.In(b.Random(dtype, {2, 3, 4, 6})).With("border", Ints({1, 2, 3, 0})).Add();
  for (const std::vector<int64_t>& border : std::vector<std::vector<int64_t>>{{0, 0, 0, 0}, {0, 1, 0, 2}, {2, 0, 4, 0}})
    b.In(b.Random({1, 2, 4, 6})).With("border", Ints(border)).Add();
  // The kept part is counted from the upper left corner; the rest of `border` has no effect.
  for (const std::vector<int64_t>& size : std::vector<std::vector<int64_t>>{{3, 5}, {1, 2}})
    b.In(b.Random({2, 3, 4, 6})).Quietly("border", Ints({1, 1, 9, 9})).With("scale", Ints(size)).Add();
}

void AddCopies(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder expand(cases, "Expand", seed), tile(cases, "Tile", seed);
  ForTypes(expand, {3, 1}, [](CaseBuilder& b, deputy_dtype) { b.Const(Whole({2, 3, 4})); });
  for (const auto& [x, shape] :
       std::vector<std::pair<Dims, Dims>>{{{}, {2, 3}}, {{3, 4}, {1, 4}}, {{1}, {0}}, {{2, 1, 3}, {2, 4, 3}}})
    expand.In(expand.Random(x)).Const(Whole(shape)).Note("shape=" + TextOf(x) + "->" + TextOf(shape)).Add();
  ForTypes(tile, {2, 3}, [](CaseBuilder& b, deputy_dtype) { b.Const(Whole({2, 1})); });
  for (const Dims& repeats : std::vector<Dims>{{1, 3}, {2, 2}, {1, 1}, {0, 2}})
    tile.In(tile.Random({2, 3})).Const(Whole(repeats)).Note("repeats=" + TextOf(repeats)).Add();
  CaseBuilder depth(cases, "DepthToSpace", seed), space(cases, "SpaceToDepth", seed);
  ForTypes(depth, {2, 8, 2, 3}, [](CaseBuilder& b, deputy_dtype) { b.Quietly("blocksize", Int(2)); });
  depth.In(depth.Random({2, 8, 2, 3})).Quietly("blocksize", Int(2)).With("mode", Text("CRD")).Add();
  depth.In(depth.Random({1, 18, 2, 1})).With("blocksize", Int(3)).Add();
  ForTypes(space, {2, 3, 4, 6}, [](CaseBuilder& b, deputy_dtype) { b.Quietly("blocksize", Int(2)); });
  space.In(space.Random({1, 2, 3, 6})).With("blocksize", Int(3)).Add();
  space.In(space.Random({2, 3, 4, 6})).Quietly("blocksize", Int(2)).With("mode", Text("CRD")).Add();
  CaseBuilder trilu(cases, "Trilu", seed), reverse(cases, "ReverseSequence", seed);
  ForTypes(trilu, {4, 5}, [](CaseBuilder&, deputy_dtype) {});
  trilu.In(trilu.Random({4, 5})).With("upper", Int(0)).Add();
  for (const int64_t k : {1, -1, 7})
    trilu.In(trilu.Random({4, 5})).Const(WholeScalar(k)).Note("k=" + std::to_string(k)).Add();
  trilu.In(trilu.Random({2, 3, 3})).Note("shape=[2,3,3]").Add();
  ForTypes(reverse, {4, 3}, [](CaseBuilder& b, deputy_dtype) { b.Const(Whole({4, 1, 2})); });
  reverse.In(reverse.Random({3, 4, 2}))
      .Const(Whole({4, 1, 2}))
      .With("time_axis", Int(1))
      .With("batch_axis", Int(0))
      .Add();
}

}  // namespace

void AddMovementCases(std::vector<Case>& cases, uint64_t seed) {
  AddShapes(cases, seed);
  AddTranspose(cases, seed);
  AddConcatAndSplit(cases, seed);
  AddSlice(cases, seed);
  AddPad(cases, seed);
  AddCenterCropPad(cases, seed);
  AddCrop(cases, seed);
  AddCopies(cases, seed);
}

}  // namespace deputy::conformance
