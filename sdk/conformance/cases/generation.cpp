// Tensors made from attributes, shapes and ranges.
#include "cases/families.hpp"
#include "definitions.hpp"

namespace deputy::conformance {
namespace {

void AddVectorizerCases(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder b(cases, "TfIdfVectorizer", seed);
  // Three single numbers and three pairs.
  const auto plain = [&](deputy_dtype dtype, const Dims& dims) -> CaseBuilder& {
    return b.In(b.Random(dtype, dims, 1, 4))
        .Quietly("ngram_counts", Ints({0, 3}))
        .Quietly("ngram_indexes", Ints({0, 1, 2, 3, 4, 5}))
        .Quietly("pool_int64s", Ints({1, 2, 3, 1, 2, 2, 3, 3, 1}))
        .Quietly("min_gram_length", Int(1))
        .Quietly("max_skip_count", Int(0));
  };
  const std::vector<float> weights = {0.5f, 2, 3, 1.5f, 0.25f, 4};
  for (const deputy_dtype dtype : TypesOf("TfIdfVectorizer"))
    plain(dtype, {24}).Quietly("mode", Text("TF")).Quietly("max_gram_length", Int(2)).Add();
  for (const char* mode : {"TF", "IDF", "TFIDF"})
    plain(kI64, {2, 12}).With("mode", Text(mode)).Quietly("max_gram_length", Int(2)).Add();
  for (const char* mode : {"IDF", "TFIDF"})
    plain(kI64, {2, 12})
        .Quietly("mode", Text(mode))
        .Quietly("max_gram_length", Int(2))
        .With("weights", Attribute::Floats(weights))
        .Add();
  plain(kI64, {24}).Quietly("mode", Text("TF")).With("max_gram_length", Int(1)).Add();
  plain(kI64, {24})
      .Quietly("mode", Text("TF"))
      .Quietly("max_gram_length", Int(2))
      .With("min_gram_length", Int(2))
      .Add();
  plain(kI64, {24}).Quietly("mode", Text("TF")).Quietly("max_gram_length", Int(2)).With("max_skip_count", Int(3)).Add();
  b.In(b.Random(kI64, {24}, 1, 4))
      .Quietly("mode", Text("TF"))
      .With("ngram_counts", Ints({0, 0}))
      .With("ngram_indexes", Ints({2, 0, 1}))
      .With("pool_int64s", Ints({1, 1, 2, 2, 3, 3}))
      .Quietly("min_gram_length", Int(1))
      .Quietly("max_gram_length", Int(2))
      .Quietly("max_skip_count", Int(0))
      .Add();
}

}  // namespace

void AddGenerationCases(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder constant(cases, "Constant", seed);
  constant.Quietly("value", Attribute::OfTensor(constant.Random({2, 3}))).Add();
  for (const deputy_dtype dtype : TypesOf("Constant"))
    constant.With("value", Attribute::OfTensor(constant.Random(dtype, {2, 3})))
        .Note(std::string("to=") + reference::NameOf(dtype))
        .Add();
  for (const Setting& setting :
       {Setting{"value_float", Float(1.5f)}, Setting{"value_floats", Attribute::Floats({1.5f, -2})},
        Setting{"value_int", Int(-3)}, Setting{"value_ints", Ints({4, -5, 6})}})
    constant.With(setting.name, setting.value).Add();

  CaseBuilder shape(cases, "ConstantOfShape", seed);
  shape.Const(Whole({2, 3})).Add();
  for (const deputy_dtype dtype : TypesOf("Constant"))
    shape.Const(Whole({2, 3}))
        .With("value", Attribute::OfTensor(shape.Random(dtype, {1}, 1, 2)))
        .Note(std::string("to=") + reference::NameOf(dtype))
        .Add();
  for (const Dims& dims : std::vector<Dims>{{}, {0}, {2, 0}, {1, 1, 7}})
    shape.Const(Whole(dims)).Note(ShapeNote(dims)).Add();
  shape.In(Whole({2, 3})).Note("input=variable").Add();

  CaseBuilder range(cases, "Range", seed);
  const auto add = [&](deputy_dtype dtype, double start, double limit, double step) -> CaseBuilder& {
    return range.Const(RealScalar(start, dtype)).Const(RealScalar(limit, dtype)).Const(RealScalar(step, dtype));
  };
  for (const deputy_dtype dtype : TypesOf("Range")) add(dtype, 2, 11, 3).Add();
  add(kF32, 0.5, 2, 0.25).Note("delta=0.25").Add();
  add(kF32, 0, 10, 3).Note("limit=10").Add();
  add(kI64, 10, 4, -2).Note("delta=-2").Add();
  add(kI64, 10, 3, -2).Note("limit=3 delta=-2").Add();
  add(kI64, 4, 4, 1).Note("shape=empty").Add();
  add(kI64, 5, 4, 1).Note("limit=below").Add();
  range.In(WholeScalar(1)).In(WholeScalar(6)).In(WholeScalar(2)).Note("inputs=variable").Add();
  AddVectorizerCases(cases, seed);
}

}  // namespace deputy::conformance
