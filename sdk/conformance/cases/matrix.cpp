// Products of matrices.
#include "cases/families.hpp"
#include "definitions.hpp"

namespace deputy::conformance {
namespace {

void AddMatMul(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder b(cases, "MatMul", seed);
  b.In(b.Random({4, 6})).In(b.Random({6, 5})).Add();
  for (const deputy_dtype dtype : TypesOf("MatMul"))
    if (dtype != DEPUTY_DTYPE_FLOAT32) b.In(b.Random(dtype, {4, 6})).In(b.Random(dtype, {6, 5})).Add();
  b.In(b.Random({4, 6})).Const(b.Random({6, 5})).Note("second=constant").Add();
  b.Const(b.Random({4, 6})).In(b.Random({6, 5})).Note("first=constant").Add();
  const std::vector<std::pair<Dims, Dims>> shapes = {{{6}, {6, 5}},
                                                     {{4, 6}, {6}},
                                                     {{6}, {6}},
                                                     {{2, 4, 6}, {6, 5}},
                                                     {{4, 6}, {2, 6, 5}},
                                                     {{2, 1, 4, 6}, {3, 6, 5}},
                                                     {{2, 3, 4, 6}, {2, 3, 6, 5}},
                                                     {{1, 1}, {1, 1}},
                                                     {{1, 6}, {6, 1}},
                                                     {{0, 6}, {6, 5}},
                                                     {{4, 0}, {0, 5}},
                                                     {{17, 33}, {33, 19}},
                                                     {{2, 4, 6}, {6}},
                                                     {{1, 4, 6}, {3, 6, 5}}};
  for (const auto& [a, c] : shapes)
    b.In(b.Random(a)).In(b.Random(c)).Note("shape=" + TextOf(a) + "*" + TextOf(c)).Add();
  for (const auto& [a, c] : std::vector<std::pair<Dims, Dims>>{{{2, 3, 6}, {6, 5}}, {{2, 2, 3, 6}, {2, 1, 6, 5}}})
    b.In(b.Random(a)).Const(b.Random(c)).Note("second=constant").Note("shape=" + TextOf(a) + "*" + TextOf(c)).Add();
}

void AddGemm(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder b(cases, "Gemm", seed);
  const auto plain = [&]() -> CaseBuilder& { return b.In(b.Random({4, 6})).Const(b.Random({6, 5})); };
  plain().Add();
  for (const deputy_dtype dtype : TypesOf("Gemm"))
    if (dtype != DEPUTY_DTYPE_FLOAT32) b.In(b.Random(dtype, {4, 6})).Const(b.Random(dtype, {6, 5})).Add();
  b.In(b.Random({6, 4})).Const(b.Random({6, 5})).With("transA", Attribute::Int(1)).Add();
  b.In(b.Random({4, 6})).Const(b.Random({5, 6})).With("transB", Attribute::Int(1)).Add();
  b.In(b.Random({6, 4}))
      .Const(b.Random({5, 6}))
      .With("transA", Attribute::Int(1))
      .With("transB", Attribute::Int(1))
      .Add();
  plain().With("alpha", Attribute::Float(0.5f)).Add();
  for (const Dims& c : std::vector<Dims>{{5}, {1, 5}, {4, 1}, {4, 5}, {}, {1}, {1, 1}})
    plain().Const(b.Random(c)).Note("C=" + TextOf(c)).Add();
  plain().Const(b.Random({5})).With("beta", Attribute::Float(0.25f)).Add();
  plain().Const(b.Random({5})).With("beta", Attribute::Float(0.0f)).Add();
  plain().In(b.Random({4, 5})).Note("C=variable").Add();
  plain().Const(b.Random({5})).With("alpha", Attribute::Float(2)).With("beta", Attribute::Float(0.5f)).Add();
  b.In(b.Random({4, 6})).In(b.Random({6, 5})).Note("B=variable").Add();
  for (const auto& [x, w] :
       std::vector<std::pair<Dims, Dims>>{{{1, 1}, {1, 1}}, {{1, 7}, {7, 3}}, {{17, 33}, {33, 19}}, {{0, 6}, {6, 5}}})
    b.In(b.Random(x)).Const(b.Random(w)).Note(ShapeNote(x) + "*" + TextOf(w)).Add();
}

Tensor Zero(deputy_dtype dtype, std::vector<int64_t> values) {
  Tensor tensor(dtype, values.size() == 1 ? Dims{} : Dims{static_cast<int64_t>(values.size())});
  tensor.whole = std::move(values);
  return tensor;
}

void AddIntegers(std::vector<Case>& cases, uint64_t seed) {
  const auto u8 = DEPUTY_DTYPE_UINT8, i8 = DEPUTY_DTYPE_INT8;
  CaseBuilder b(cases, "MatMulInteger", seed);
  const auto pair = [&](deputy_dtype a, deputy_dtype w) -> CaseBuilder& {
    return b.In(b.Random(a, {4, 6}, -30, 30)).Const(b.Random(w, {6, 5}, -30, 30));
  };
  pair(u8, u8).Const(Zero(u8, {3})).Const(Zero(u8, {5})).Add();
  pair(u8, i8).Const(Zero(u8, {3})).Note("second=int8").Add();
  pair(i8, i8).Const(Zero(i8, {-3})).Add();
  pair(u8, u8).Note("zero-points=none").Add();
  pair(u8, u8).Const(Zero(u8, {3})).Const(Zero(u8, {1, 2, 3, 4, 5})).Note("zero-points=per-column").Add();
  CaseBuilder q(cases, "QLinearMatMul", seed);
  for (const deputy_dtype dtype : {u8, i8}) {
    q.In(q.Random(dtype, {4, 6}, -30, 30)).Const(RealScalar(0.03125)).Const(Zero(dtype, {3}));
    q.Const(q.Random(dtype, {6, 5}, -30, 30)).Const(RealScalar(0.0625)).Const(Zero(dtype, {2}));
    q.Const(RealScalar(0.5)).Const(Zero(dtype, {4})).Add();
  }
  q.In(q.Random(u8, {2, 4, 6}, 0, 60)).Const(RealScalar(0.03125)).Const(Zero(u8, {3}));
  q.Const(q.Random(u8, {6, 5}, 0, 60)).Const(RealScalar(0.0625)).Const(Zero(u8, {2}));
  q.Const(RealScalar(0.5)).Const(Zero(u8, {4})).Note("shape=[2,4,6]*[6,5]").Add();
}

void AddDet(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder b(cases, "Det", seed);
  for (const deputy_dtype dtype : TypesOf("Det")) b.In(b.Random(dtype, {3, 3})).Add();
  for (const Dims& shape : std::vector<Dims>{{1, 1}, {2, 2}, {7, 7}, {4, 3, 3}, {2, 3, 4, 4}, {0, 3, 3}})
    b.In(b.Random(shape)).Note(ShapeNote(shape)).Add();
  Tensor singular(DEPUTY_DTYPE_FLOAT32, {3, 3}), exchanged(DEPUTY_DTYPE_FLOAT32, {2, 2});
  for (int64_t i = 0; i < 9; ++i) singular.Put(i, i / 3);
  exchanged.Put(1, 2.0);
  exchanged.Put(2, 3.0);
  b.In(singular).Note("values=singular").Add();
  b.In(exchanged).Note("values=first-is-zero").Add();
}

}  // namespace

void AddMatrixCases(std::vector<Case>& cases, uint64_t seed) {
  AddMatMul(cases, seed);
  AddGemm(cases, seed);
  AddIntegers(cases, seed);
  AddDet(cases, seed);
}

}  // namespace deputy::conformance
