// Operators whose elements are, or come from, indices.
#include "cases/families.hpp"
#include "definitions.hpp"

namespace deputy::conformance {
namespace {

Tensor Indices(const Dims& dims, std::vector<int64_t> values, deputy_dtype dtype = kI64) {
  Tensor tensor(dtype, dims);
  tensor.whole = std::move(values);
  return tensor;
}

void AddGathers(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder b(cases, "Gather", seed);
  for (const deputy_dtype dtype : TypesOf("Gather")) b.In(b.Random(dtype, {4, 5})).Const(Indices({3}, {2, 0, 3})).Add();
  b.In(b.Random({4, 5})).Const(Indices({2, 2}, {4, 1, 0, 2})).With("axis", Int(1)).Add();
  b.In(b.Random({2, 3, 4})).Const(Indices({2}, {3, 1})).With("axis", Int(-1)).Add();
  b.In(b.Random({4, 5})).Const(Indices({}, {2})).Note("indices=scalar").Add();
  b.In(b.Random({4, 5})).Const(Indices({2}, {-1, -3})).Note("indices=negative").Add();
  b.In(b.Random({4, 5})).In(Indices({3}, {2, 0, 3})).Note("indices=variable").Add();
  b.In(b.Random({4, 5})).Const(Indices({3}, {2, 0, 3}, kI32)).Note("indices=int32").Add();
  b.In(b.Random({4, 5})).Const(Indices({0}, {})).Note("shape=empty").Add();
  CaseBuilder e(cases, "GatherElements", seed);
  for (const deputy_dtype dtype : TypesOf("GatherElements"))
    e.In(e.Random(dtype, {3, 3})).Const(Indices({2, 3}, {1, 2, 0, 2, 0, 0})).Add();
  e.In(e.Random({2, 3})).Const(Indices({2, 2}, {0, 2, 1, 0})).With("axis", Int(1)).Add();
  e.In(e.Random({2, 3})).Const(Indices({2, 2}, {-1, 2, 1, -3})).With("axis", Int(-1)).Note("indices=negative").Add();
  CaseBuilder n(cases, "GatherND", seed);
  for (const deputy_dtype dtype : TypesOf("GatherND"))
    n.In(n.Random(dtype, {2, 3, 4})).Const(Indices({2, 2}, {0, 2, 1, 0})).Add();
  n.In(n.Random({2, 3, 4})).Const(Indices({2, 1}, {2, 0})).With("batch_dims", Int(1)).Add();
  n.In(n.Random({2, 3})).Const(Indices({3, 2}, {1, 2, 0, 0, -1, -2})).Note("indices=negative").Add();
}

void AddScatters(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder e(cases, "ScatterElements", seed);
  for (const deputy_dtype dtype : TypesOf("ScatterElements"))
    e.In(e.Random(dtype, {3, 3})).Const(Indices({2, 3}, {1, 0, 2, 0, 2, 1})).In(e.Random(dtype, {2, 3})).Add();
  e.In(e.Random({2, 4})).Const(Indices({2, 2}, {1, 3, 0, 2})).In(e.Random({2, 2})).With("axis", Int(1)).Add();
  for (const char* how : {"add", "mul", "max", "min"})
    e.In(e.Random({3, 3}))
        .Const(Indices({2, 3}, {1, 0, 2, 1, 2, 2}))
        .In(e.Random({2, 3}))
        .With("reduction", Text(how))
        .Add();
  CaseBuilder old(cases, "Scatter", seed);
  for (const deputy_dtype dtype : TypesOf("Scatter"))
    old.In(old.Random(dtype, {3, 3})).Const(Indices({2, 3}, {1, 0, 2, 0, 2, 1})).In(old.Random(dtype, {2, 3})).Add();
  old.In(old.Random({2, 4})).Const(Indices({2, 2}, {1, 3, 0, 2})).In(old.Random({2, 2})).With("axis", Int(1)).Add();
  CaseBuilder n(cases, "ScatterND", seed);
  for (const deputy_dtype dtype : TypesOf("ScatterND"))
    n.In(n.Random(dtype, {4, 3})).Const(Indices({2, 1}, {3, 1})).In(n.Random(dtype, {2, 3})).Add();
  n.In(n.Random({4, 3})).Const(Indices({2, 2}, {3, 1, 0, 2})).In(n.Random({2})).Note("indices=full").Add();
  for (const char* how : {"add", "mul", "max", "min"})
    n.In(n.Random({4, 3})).Const(Indices({2, 1}, {1, 1})).In(n.Random({2, 3})).With("reduction", Text(how)).Add();
}

void AddOrders(std::vector<Case>& cases, uint64_t seed) {
  for (const char* op_type : {"ArgMax", "ArgMin"}) {
    CaseBuilder b(cases, op_type, seed);
    for (const deputy_dtype dtype : TypesOf(op_type)) b.In(b.Distinct(dtype, {3, 4, 5})).Add();
    b.In(b.Distinct(kF32, {3, 4, 5})).With("axis", Int(1)).Add();
    b.In(b.Distinct(kF32, {3, 4, 5})).With("axis", Int(-1)).Add();
    b.In(b.Distinct(kF32, {3, 4, 5})).With("keepdims", Int(0)).Add();
    Tensor ties(kF32, {3, 4});
    for (int64_t i = 0; i < ties.count(); ++i) ties.Put(i, i % 2);
    b.In(ties).Quietly("axis", Int(1)).Note("values=tied").Add();
    b.In(ties).Quietly("axis", Int(1)).With("select_last_index", Int(1)).Add();
    b.In(b.Distinct(kF32, {1})).Note("shape=[1]").Add();
  }
  CaseBuilder k(cases, "TopK", seed);
  for (const deputy_dtype dtype : TypesOf("TopK")) k.In(k.Distinct(dtype, {3, 7})).Const(Whole({3})).Outputs(2).Add();
  k.In(k.Distinct(kF32, {5, 4})).Const(Whole({2})).With("axis", Int(0)).Outputs(2).Add();
  k.In(k.Distinct(kF32, {3, 7})).Const(Whole({3})).With("largest", Int(0)).Outputs(2).Add();
  k.In(k.Distinct(kF32, {3, 7})).Const(Whole({7})).Note("k=all").Outputs(2).Add();
  k.In(k.Distinct(kF32, {3, 7})).In(Whole({3})).Note("k=variable").Outputs(2).Add();
  for (const char* op_type : {"CumProd", "CumSum"}) {
    CaseBuilder c(cases, op_type, seed);
    for (const deputy_dtype dtype : TypesOf(op_type)) c.In(c.Random(dtype, {3, 5})).Const(WholeScalar(1)).Add();
    c.In(c.Random({3, 5})).Const(WholeScalar(0)).Note("axis=0").Add();
    c.In(c.Random({3, 5})).Const(WholeScalar(1)).With("exclusive", Int(1)).Add();
    c.In(c.Random({3, 5})).Const(WholeScalar(1)).With("reverse", Int(1)).Add();
    c.In(c.Random({3, 5})).Const(WholeScalar(1)).With("exclusive", Int(1)).With("reverse", Int(1)).Add();
  }
}

void AddTensorScatter(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder b(cases, "TensorScatter", seed);
  const auto begin = [&](deputy_dtype t, const Dims& cache, const Dims& update) -> CaseBuilder& {
    return b.In(b.Random(t, cache)).In(b.Random(t, update));
  };
  for (const deputy_dtype t : TypesOf("TensorScatter")) begin(t, {2, 3, 5, 4}, {2, 3, 2, 4}).In(Whole({1, 3})).Add();
  begin(kF32, {2, 3, 5, 4}, {2, 3, 2, 4}).Note("indices=none").Add();
  begin(kF32, {2, 3, 5, 4}, {2, 3, 3, 4}).In(Whole({4, 12})).With("mode", Text("circular")).Add();
  begin(kF32, {2, 5, 3}, {2, 2, 3}).In(Whole({0, 3})).With("axis", Int(1)).Add();
  begin(kF32, {2, 5}, {2, 5}).With("axis", Int(-1)).With("mode", Text("linear")).Add();
  begin(kF32, {2, 3, 5, 4}, {2, 3, 0, 4}).In(Whole({5, 0})).Note("shape=empty").Add();
}

void AddCounts(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder hot(cases, "OneHot", seed);
  const auto begin = [&](std::vector<int64_t> indices) -> CaseBuilder& {
    return hot.In(Indices({3}, std::move(indices))).Const(WholeScalar(4)).Const(Real({-1, 2}));
  };
  begin({2, 0, 3}).Add();
  for (const deputy_dtype dtype : TypesOf("OneHot")) {
    Tensor values(dtype, {2}), depth(dtype, {});
    values.Put(1, int64_t{1});
    depth.Put(0, int64_t{4});
    hot.In(Indices({3}, {2, 0, 3})).Const(WholeScalar(4)).Const(values);
    hot.Note(std::string("values=") + reference::NameOf(dtype)).Add();
    if (dtype == kBool) continue;
    Tensor positions(dtype, {3});
    for (const int64_t i : {0, 1, 2}) positions.Put(i, i + 1);
    hot.In(positions).Const(depth).Const(Real({-1, 2})).Add();
  }
  begin({2, 0, 3}).With("axis", Int(0)).Add();
  begin({-1, 0, -4}).Note("indices=negative").Add();
  begin({2, 9, 0}).Note("indices=outside").Add();
  CaseBuilder shape(cases, "Shape", seed), size(cases, "Size", seed), eye(cases, "EyeLike", seed);
  for (const deputy_dtype dtype : TypesOf("Shape")) shape.In(shape.Random(dtype, {2, 3, 4})).Add();
  shape.In(shape.Random({2, 3, 4})).With("start", Int(1)).Add();
  shape.In(shape.Random({2, 3, 4})).With("end", Int(-1)).Add();
  shape.In(shape.Random({})).Note("shape=scalar").Add();
  for (const Dims& dims : AwkwardShapes()) size.In(size.Random(dims)).Note(ShapeNote(dims)).Add();
  for (const deputy_dtype dtype : TypesOf("Size")) size.In(size.Random(dtype, {2, 3, 4})).Add();
  for (const deputy_dtype dtype : TypesOf("EyeLike")) eye.In(eye.Random(dtype, {3, 5})).Add();
  for (const int64_t k : {1, -1}) eye.In(eye.Random({3, 5})).With("k", Int(k)).Add();
  eye.In(eye.Random({3, 5})).With("dtype", Int(kI32)).Add();
}

}  // namespace

void AddIndexingCases(std::vector<Case>& cases, uint64_t seed) {
  AddGathers(cases, seed);
  AddScatters(cases, seed);
  AddOrders(cases, seed);
  AddCounts(cases, seed);
  AddTensorScatter(cases, seed);
}

}  // namespace deputy::conformance
