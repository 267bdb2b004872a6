// Einsum: one case for each feature of an equation.
#include "cases/families.hpp"
#include "definitions.hpp"

namespace deputy::conformance {

void AddEinsumCases(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder b(cases, "Einsum", seed);
  const auto equation = [&](const char* text) { b.Quietly("equation", Attribute::String(text)); };
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
    b.With("equation", Attribute::String(use.text)).Note("shape=" + shapes).Add();
  }
  b.In(b.Random({3, 4})).Const(b.Random({4, 5})).Note("second=constant");
  equation("ij,jk->ik");
  b.Add();
}

}  // namespace deputy::conformance
