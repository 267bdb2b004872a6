// Operators whose output length depends on the elements.
#include "cases/families.hpp"
#include "definitions.hpp"

namespace deputy::conformance {
namespace {

Tensor Kept(std::vector<int64_t> values) {
  Tensor made(kBool, {static_cast<int64_t>(values.size())});
  made.whole = std::move(values);
  return made;
}

}  // namespace

void AddSelectionCases(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder zero(cases, "NonZero", seed);
  // About a third of the elements is zero.
  const auto gaps = [&](deputy_dtype dtype, const Dims& dims) {
    Tensor made = zero.Random(dtype, dims);
    for (int64_t i = 0; i < made.count(); i += 3) made.Put(i, int64_t{0});
    return made;
  };
  for (const deputy_dtype dtype : TypesOf("NonZero")) zero.In(gaps(dtype, {3, 4})).Add();
  for (const Dims& dims : std::vector<Dims>{{7}, {2, 3, 4}, {1, 1}, {0, 3}})
    zero.In(gaps(kF32, dims)).Note(ShapeNote(dims)).Add();
  zero.In(Tensor(kF32, {3, 4})).Note("values=zero").Add();
  // More elements are selected than a list of a fixed length holds.
  for (const Dims& dims : std::vector<Dims>{{4, 1100}, {100003}}) zero.In(gaps(kF32, dims)).Note(ShapeNote(dims)).Add();

  CaseBuilder some(cases, "Compress", seed);
  for (const deputy_dtype dtype : TypesOf("Compress"))
    some.In(some.Random(dtype, {3, 4})).Const(Kept({0, 1, 1, 0, 1})).Add();
  some.In(some.Random({3, 4})).Const(Kept({1, 0, 1})).With("axis", Int(0)).Add();
  some.In(some.Random({3, 4})).Const(Kept({0, 1, 1})).With("axis", Int(1)).Note("condition=shorter").Add();
  some.In(some.Random({2, 3, 4})).Const(Kept({1, 0, 1})).With("axis", Int(-2)).Add();
  some.In(some.Random({3, 4})).In(Kept({0, 1, 1, 0})).With("axis", Int(1)).Note("condition=variable").Add();
  std::vector<int64_t> most(5003, 1);
  for (size_t i = 0; i < most.size(); i += 3) most[i] = 0;
  const auto length = static_cast<int64_t>(most.size());
  some.In(some.Distinct(kF32, {length})).Const(Kept(most)).Note(ShapeNote({length})).Add();
  some.In(some.Distinct(kF32, {length, 2})).Const(Kept(most)).With("axis", Int(0)).Note(ShapeNote({length, 2})).Add();
  some.In(some.Distinct(kF32, {2, length})).In(Kept(most)).With("axis", Int(1)).Note("condition=variable");
  some.Note(ShapeNote({2, length})).Add();
  some.In(some.Random({3, 4})).Const(Kept({0, 0})).Note("condition=false").Add();

  CaseBuilder unique(cases, "Unique", seed);
  const auto few = [&](deputy_dtype dtype, const Dims& dims) { return unique.Random(dtype, dims, 0, 0.125); };
  for (const deputy_dtype dtype : TypesOf("Unique")) unique.In(few(dtype, {9})).Outputs(4).Add();
  unique.In(few(kF32, {9})).With("sorted", Int(0)).Outputs(4).Add();
  unique.In(few(kF32, {3, 5})).Outputs(4).Note("shape=[3,5]").Add();
  unique.In(few(kF32, {9, 1})).With("axis", Int(0)).Outputs(4).Add();
  unique.In(few(kF32, {2, 9})).With("axis", Int(1)).Outputs(4).Add();
  unique.In(few(kF32, {2, 9})).With("axis", Int(-1)).With("sorted", Int(0)).Outputs(4).Add();
  unique.In(few(kF32, {1, 9, 2})).With("axis", Int(1)).Outputs(4).Note("shape=[1,9,2]").Add();
  unique.In(few(kF32, {9})).Note("outputs=1").Add();
  for (const bool all : {true, false})
    unique.In(unique.Distinct(kF32, {3001}))
        .Outputs(all ? 4 : 1)
        .Note(all ? "shape=[3001]" : "shape=[3001] outputs=1")
        .Add();
  unique.In(few(kF32, {1})).Outputs(4).Note("shape=[1]").Add();
}

}  // namespace deputy::conformance
