// Products of matrices, and Einsum.
#include "cases/families.hpp"
#include "definitions.hpp"

namespace deputy::conformance {
namespace {

void AddMatMul(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder b(cases, "MatMul", seed);
  b.In(b.Random({4, 6})).In(b.Random({6, 5})).Add();
  for (const deputy_dtype dtype : TypesOf("MatMul"))
    if (dtype != kF32) b.In(b.Random(dtype, {4, 6})).In(b.Random(dtype, {6, 5})).Add();
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
    if (dtype != kF32) b.In(b.Random(dtype, {4, 6})).Const(b.Random(dtype, {6, 5})).Add();
  b.In(b.Random({6, 4})).Const(b.Random({6, 5})).With("transA", Int(1)).Add();
  b.In(b.Random({4, 6})).Const(b.Random({5, 6})).With("transB", Int(1)).Add();
  b.In(b.Random({6, 4})).Const(b.Random({5, 6})).With("transA", Int(1)).With("transB", Int(1)).Add();
  plain().With("alpha", Float(0.5f)).Add();
  for (const Dims& c : std::vector<Dims>{{5}, {1, 5}, {4, 1}, {4, 5}, {}, {1}, {1, 1}})
    plain().Const(b.Random(c)).Note("C=" + TextOf(c)).Add();
  plain().Const(b.Random({5})).With("beta", Float(0.25f)).Add();
  plain().Const(b.Random({5})).With("beta", Float(0.0f)).Add();
  plain().In(b.Random({4, 5})).Note("C=variable").Add();
  plain().Const(b.Random({5})).With("alpha", Float(2)).With("beta", Float(0.5f)).Add();
  b.In(b.Random({4, 6})).In(b.Random({6, 5})).Note("B=variable").Add();
  for (const auto& [x, w] :
       std::vector<std::pair<Dims, Dims>>{{{1, 1}, {1, 1}}, {{1, 7}, {7, 3}}, {{17, 33}, {33, 19}}, {{0, 6}, {6, 5}}})
    b.In(b.Random(x)).Const(b.Random(w)).Note(ShapeNote(x) + "*" + TextOf(w)).Add();
}

void AddIntegers(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder b(cases, "MatMulInteger", seed);
  const auto pair = [&](deputy_dtype a, deputy_dtype w) -> CaseBuilder& {
    return b.In(b.Random(a, {4, 6}, -30, 30)).Const(b.Random(w, {6, 5}, -30, 30));
  };
  pair(kU8, kU8).Const(Zero(kU8, {3})).Const(Zero(kU8, {5})).Add();
  pair(kU8, kI8).Const(Zero(kU8, {3})).Note("second=int8").Add();
  pair(kI8, kI8).Const(Zero(kI8, {-3})).Add();
  pair(kU8, kU8).Note("zero-points=none").Add();
  pair(kU8, kU8).Const(Zero(kU8, {3})).Const(Zero(kU8, {1, 2, 3, 4, 5})).Note("zero-points=per-column").Add();
  CaseBuilder q(cases, "QLinearMatMul", seed);
  for (const deputy_dtype dtype : {kU8, kI8}) {
    q.In(q.Random(dtype, {4, 6}, -30, 30)).Const(RealScalar(0.03125)).Const(Zero(dtype, {3}));
    q.Const(q.Random(dtype, {6, 5}, -30, 30)).Const(RealScalar(0.0625)).Const(Zero(dtype, {2}));
    q.Const(RealScalar(0.5)).Const(Zero(dtype, {4})).Add();
  }
  q.In(q.Random(kU8, {2, 4, 6}, 0, 60)).Const(RealScalar(0.03125)).Const(Zero(kU8, {3}));
  q.Const(q.Random(kU8, {6, 5}, 0, 60)).Const(RealScalar(0.0625)).Const(Zero(kU8, {2}));
  q.Const(RealScalar(0.5)).Const(Zero(kU8, {4})).Note("shape=[2,4,6]*[6,5]").Add();
}

void AddDet(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder b(cases, "Det", seed);
  for (const deputy_dtype dtype : TypesOf("Det")) b.In(b.Random(dtype, {3, 3})).Add();
  for (const Dims& shape : std::vector<Dims>{{1, 1}, {2, 2}, {7, 7}, {4, 3, 3}, {2, 3, 4, 4}, {0, 3, 3}})
    b.In(b.Random(shape)).Note(ShapeNote(shape)).Add();
  Tensor singular(kF32, {3, 3}), exchanged(kF32, {2, 2});
  for (int64_t i = 0; i < 9; ++i) singular.Put(i, i / 3);
  exchanged.Put(1, 2.0);
  exchanged.Put(2, 3.0);
  b.In(singular).Note("values=singular").Add();
  b.In(exchanged).Note("values=first-is-zero").Add();
}

// One case for each feature of an equation.
void AddEinsum(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder b(cases, "Einsum", seed);
  const auto equation = [&](const char* text) { b.Quietly("equation", Text(text)); };
  for (const deputy_dtype dtype : TypesOf("Einsum")) {
    b.In(b.Random(dtype, {3, 4})).In(b.Random(dtype, {4, 5}));
    equation("ij,jk->ik");
    b.Add();
  }
  struct Use {
    const char* text;
    std::vector<Dims> inputs;
  };
  for (const Use& use : std::vector<Use>{{"ij,jk", {{3, 4}, {4, 5}}},
                                         {"ba,ca", {{3, 4}, {5, 4}}},
                                         {"ij->ji", {{3, 4}}},
                                         {"ij->i", {{3, 4}}},
                                         {"ij->", {{3, 4}}},
                                         {"ii->i", {{4, 4}}},
                                         {"ii", {{4, 4}}},
                                         {"i,i->i", {{5}, {5}}},
                                         {"i,i", {{5}, {5}}},
                                         {"i,j->ij", {{3}, {4}}},
                                         {"bij,bjk->bik", {{2, 3, 4}, {2, 4, 5}}},
                                         {"bhqd,bhkd->bhqk", {{2, 3, 4, 5}, {2, 3, 6, 5}}},
                                         {"bqhd,bkhd->bhqk", {{2, 4, 3, 5}, {2, 6, 3, 5}}},
                                         {"...ij,...jk->...ik", {{2, 3, 4}, {2, 4, 5}}},
                                         {"...ij,jk->...ik", {{2, 7, 3, 4}, {4, 5}}},
                                         {"...ij,...jk", {{2, 1, 3, 4}, {3, 4, 5}}},
                                         {"i...->...i", {{3, 4, 5}}},
                                         {"...->...", {{3, 4}}},
                                         {"...i->i...", {{3, 4, 5}}},
                                         {" i j , j k -> i k ", {{3, 4}, {4, 5}}},
                                         {"ij,jk,kl->il", {{3, 4}, {4, 5}, {5, 2}}},
                                         {"Ab,bC->AC", {{3, 4}, {4, 5}}},
                                         {"ij,->ij", {{3, 4}, {}}},
                                         {"ijk,j->ik", {{2, 3, 4}, {3}}},
                                         {"abcd,cd->ab", {{2, 3, 4, 5}, {4, 5}}},
                                         {"ij,jk->ik", {{0, 4}, {4, 5}}},
                                         {"ij,jk->ik", {{3, 0}, {0, 5}}},
                                         {"ij,jk->ik", {{17, 33}, {33, 9}}}}) {
    std::string shapes;
    for (const Dims& dims : use.inputs) {
      b.In(b.Random(dims));
      shapes += TextOf(dims);
    }
    b.With("equation", Text(use.text)).Note("shape=" + shapes).Add();
  }
  b.In(b.Random({3, 4})).Const(b.Random({4, 5})).Note("second=constant");
  equation("ij,jk->ik");
  b.Add();
}

}  // namespace

void AddMatrixCases(std::vector<Case>& cases, uint64_t seed) {
  AddMatMul(cases, seed);
  AddGemm(cases, seed);
  AddIntegers(cases, seed);
  AddDet(cases, seed);
  AddEinsum(cases, seed);
}

}  // namespace deputy::conformance
