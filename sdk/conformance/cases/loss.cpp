// Losses over classes: reductions, weights, ignored labels, dimensions beside the batch.
#include "cases/families.hpp"
#include "definitions.hpp"

namespace deputy::conformance {

void AddLossCases(std::vector<Case>& cases, uint64_t seed) {
  for (const char* op_type : {"NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"}) {
    CaseBuilder b(cases, op_type, seed);
    const auto f = DEPUTY_DTYPE_FLOAT32;
    const auto labels = [](const Dims& dims, int64_t classes, deputy_dtype dtype = DEPUTY_DTYPE_INT64) {
      Tensor made(dtype, dims);
      for (int64_t i = 0; i < made.count(); ++i) made.Put(i, (i * 7 + 2) % classes);
      return made;
    };
    const auto add = [&](deputy_dtype t, const Dims& x) -> CaseBuilder& {
      Dims target = x;
      target.erase(target.begin() + 1);
      return b.In(b.Random(t, x)).In(labels(target, x[1]));
    };
    for (const deputy_dtype dtype : TypesOf(op_type)) add(dtype, {4, 5}).Add();
    for (const char* reduction : {"none", "sum"})
      for (const Dims& x : std::vector<Dims>{{4, 5}, {2, 5, 3}})
        add(f, x).With("reduction", Attribute::String(reduction)).Note(ShapeNote(x)).Add();
    add(f, {4, 5}).Const(b.Random(f, {5}, 0.25, 2)).Note("input=weight").Add();
    add(f, {2, 5, 3, 2}).Const(b.Random(f, {5}, 0.25, 2)).Note("input=weight shape=[2,5,3,2]").Add();
    for (const char* reduction : {"none", "sum", "mean"})
      add(f, {2, 5, 3}).With("ignore_index", Attribute::Int(2)).With("reduction", Attribute::String(reduction)).Add();
    add(f, {2, 5, 3})
        .Const(b.Random(f, {5}, 0.25, 2))
        .With("ignore_index", Attribute::Int(2))
        .Note("input=weight")
        .Add();
    Tensor outside = labels({4}, 5);
    outside.Put(1, int64_t{-1});
    b.In(b.Random({4, 5})).In(outside).With("ignore_index", Attribute::Int(-1)).Add();
    b.In(b.Random({4, 5})).In(labels({4}, 5, DEPUTY_DTYPE_INT32)).Note("labels=int32").Add();
    for (const Dims& x : std::vector<Dims>{{1, 1}, {3, 17}, {2, 5, 3, 2}, {2, 3, 2, 1, 2}})
      add(f, x).Note(ShapeNote(x)).Add();
    if (b.op_type() == "SoftmaxCrossEntropyLoss") {
      add(f, {4, 5}).Outputs(2).Note("outputs=2").Add();
      add(f, {2, 5, 3}).Outputs(2).Note("outputs=2 shape=[2,5,3]").Add();
    }
  }
}

}  // namespace deputy::conformance
