// Normalizations, the softmax family, and losses over classes.
#include "cases/families.hpp"
#include "definitions.hpp"

namespace deputy::conformance {
namespace {

void AddBatchNormalization(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder b(cases, "BatchNormalization", seed);
  const auto add = [&](deputy_dtype t, const Dims& x) -> CaseBuilder& {
    const Dims c = {x.size() > 1 ? x[1] : 1};
    return b.In(b.Random(t, x))
        .Const(b.Random(t, c, 0.5, 2))
        .Const(b.Random(t, c))
        .Const(b.Random(t, c))
        .Const(b.Random(t, c, 0.25, 2));
  };
  for (const deputy_dtype dtype : TypesOf("BatchNormalization")) add(dtype, {2, 3, 4, 5}).Add();
  add(kF32, {2, 3, 4, 5}).With("epsilon", Float(0.5f)).Add();
  for (const Dims& shape :
       std::vector<Dims>{{4, 3}, {2, 3, 7}, {1, 2, 3, 2, 3}, {1, 1, 1, 1}, {1, 17, 3, 5}, {0, 3, 4, 5}})
    add(kF32, shape).Note(ShapeNote(shape)).Add();
  b.In(b.Random({2, 3, 4}))
      .In(b.Random(kF32, {3}, 0.5, 2))
      .In(b.Random({3}))
      .In(b.Random({3}))
      .In(b.Random(kF32, {3}, 0.25, 2));
  b.Note("statistics=variable").Add();
  add(kF32, {2, 3, 4, 5}).With("training_mode", Int(1)).Outputs(3).Add();
  add(kF32, {4, 3}).With("training_mode", Int(1)).With("momentum", Float(0.25f)).Outputs(3).Add();
}

void AddLayerNormalization(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder b(cases, "LayerNormalization", seed);
  const auto add = [&](deputy_dtype t, const Dims& x, const Dims& scale) -> CaseBuilder& {
    return b.In(b.Random(t, x)).Const(b.Random(t, scale, 0.5, 2)).Const(b.Random(t, scale));
  };
  for (const deputy_dtype dtype : TypesOf("LayerNormalization")) add(dtype, {2, 3, 8}, {8}).Add();
  add(kF32, {2, 3, 8}, {3, 8}).With("axis", Int(1)).Add();
  add(kF32, {2, 3, 8}, {3, 8}).With("axis", Int(-2)).Add();
  add(kF32, {2, 3, 8}, {8}).With("epsilon", Float(0.5f)).Add();
  b.In(b.Random({2, 3, 8})).Const(b.Random({8})).Note("input=no-bias").Add();
  b.In(b.Random({2, 3, 8})).In(b.Random({8})).In(b.Random({8})).Note("scale=variable").Add();
  for (const Dims& shape : std::vector<Dims>{{5, 7}, {1, 1, 33}, {2, 3, 4, 5}, {0, 8}})
    add(kF32, shape, {shape.back()}).Note(ShapeNote(shape)).Add();
  add(kF32, {2, 3, 8}, {8}).Outputs(3).Note("outputs=3").Add();
}

void AddOthers(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder instance(cases, "InstanceNormalization", seed);
  const auto channels = [&](CaseBuilder& b, deputy_dtype t, const Dims& x) -> CaseBuilder& {
    return b.In(b.Random(t, x)).Const(b.Random(t, {x[1]}, 0.5, 2)).Const(b.Random(t, {x[1]}));
  };
  for (const deputy_dtype dtype : TypesOf("InstanceNormalization")) channels(instance, dtype, {2, 3, 4, 5}).Add();
  channels(instance, kF32, {2, 3, 4, 5}).With("epsilon", Float(0.5f)).Add();
  channels(instance, kF32, {2, 3, 9}).Note("shape=[2,3,9]").Add();
  CaseBuilder group(cases, "GroupNormalization", seed);
  for (const deputy_dtype dtype : TypesOf("GroupNormalization"))
    channels(group, dtype, {2, 4, 3, 5}).Quietly("num_groups", Int(2)).Add();
  channels(group, kF32, {2, 4, 3, 5}).With("num_groups", Int(4)).Add();
  channels(group, kF32, {2, 4, 3, 5}).With("num_groups", Int(1)).Add();
  channels(group, kF32, {2, 4, 3}).Quietly("num_groups", Int(2)).With("epsilon", Float(0.5f)).Add();
  CaseBuilder rms(cases, "RMSNormalization", seed);
  for (const deputy_dtype dtype : TypesOf("RMSNormalization"))
    rms.In(rms.Random(dtype, {2, 3, 8})).Const(rms.Random(dtype, {8}, 0.5, 2)).Add();
  rms.In(rms.Random({2, 3, 8})).Const(rms.Random({3, 8})).With("axis", Int(1)).Add();
  rms.In(rms.Random({2, 3, 8})).Const(rms.Random({8})).With("epsilon", Float(0.5f)).Add();
  CaseBuilder lrn(cases, "LRN", seed);
  const auto neighbours = [&](int64_t size) -> CaseBuilder& {
    return lrn.In(lrn.Random({2, 7, 3, 4})).Quietly("size", Int(size));
  };
  neighbours(3).Add();
  neighbours(3).With("size", Int(5)).Add();
  neighbours(3).With("size", Int(4)).Add();
  for (const Setting& setting :
       {Setting{"alpha", Float(0.75f)}, Setting{"beta", Float(0.5f)}, Setting{"bias", Float(2)}})
    neighbours(3).With(setting.name, setting.value).Add();
  neighbours(3).With("alpha", Float(0.75f)).With("beta", Float(0.25f)).Add();
  for (const deputy_dtype dtype : TypesOf("LRN"))
    if (dtype != kF32) lrn.In(lrn.Random(dtype, {2, 7, 3, 4})).Quietly("size", Int(3)).Add();
  CaseBuilder variance(cases, "MeanVarianceNormalization", seed);
  for (const deputy_dtype dtype : TypesOf("MeanVarianceNormalization"))
    variance.In(variance.Random(dtype, {2, 3, 4, 5})).Add();
  for (const Dims& axes : std::vector<Dims>{{2, 3}, {0, 1}})
    variance.In(variance.Random({2, 3, 4, 5})).With("axes", Ints(axes)).Add();
  CaseBuilder lp(cases, "LpNormalization", seed);
  for (const deputy_dtype dtype : TypesOf("LpNormalization")) lp.In(lp.Random(dtype, {2, 3, 4}, 0.5, 2)).Add();
  lp.In(lp.Random(kF32, {2, 3, 4}, 0.5, 2)).With("axis", Int(1)).Add();
  lp.In(lp.Random(kF32, {2, 3, 4}, 0.5, 2)).With("p", Int(1)).Add();
}

void AddSoftmax(std::vector<Case>& cases, const char* op_type, uint64_t seed) {
  CaseBuilder b(cases, op_type, seed);
  const auto x = [&](deputy_dtype t, const Dims& dims) {
    return b.op_type() == "Hardmax" ? b.Distinct(t, dims) : b.Random(t, dims);
  };
  for (const deputy_dtype dtype : TypesOf(op_type)) b.In(x(dtype, {2, 3, 5})).Add();
  for (const int64_t axis : {0, 1, -2, -3}) b.In(x(kF32, {2, 3, 5})).With("axis", Int(axis)).Add();
  b.In(x(kF32, {2, 3, 2, 5})).With("axis", Int(1)).Note("shape=[2,3,2,5]").Add();
  for (const Dims& shape : std::vector<Dims>{{7}, {1}, {33, 17}, {2, 1, 3, 1}, {0, 3}, {2, 3, 1, 2, 3}})
    b.In(x(kF32, shape)).Note(ShapeNote(shape)).Add();
  b.In(b.Random(kF32, {2, 6}, -90, 90)).Note("values=large").Add();
}

void AddLosses(std::vector<Case>& cases, uint64_t seed) {
  for (const char* op_type : {"NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"}) {
    CaseBuilder b(cases, op_type, seed);
    const auto labels = [](const Dims& dims, int64_t classes, deputy_dtype dtype = kI64) {
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
        add(kF32, x).With("reduction", Text(reduction)).Note(ShapeNote(x)).Add();
    add(kF32, {4, 5}).Const(b.Random(kF32, {5}, 0.25, 2)).Note("input=weight").Add();
    add(kF32, {2, 5, 3, 2}).Const(b.Random(kF32, {5}, 0.25, 2)).Note("input=weight shape=[2,5,3,2]").Add();
    for (const char* reduction : {"none", "sum", "mean"})
      add(kF32, {2, 5, 3}).With("ignore_index", Int(2)).With("reduction", Text(reduction)).Add();
    add(kF32, {2, 5, 3}).Const(b.Random(kF32, {5}, 0.25, 2)).With("ignore_index", Int(2)).Note("input=weight").Add();
    Tensor outside = labels({4}, 5);
    outside.Put(1, int64_t{-1});
    b.In(b.Random({4, 5})).In(outside).With("ignore_index", Int(-1)).Add();
    b.In(b.Random({4, 5})).In(labels({4}, 5, kI32)).Note("labels=int32").Add();
    for (const Dims& x : std::vector<Dims>{{1, 1}, {3, 17}, {2, 5, 3, 2}, {2, 3, 2, 1, 2}})
      add(kF32, x).Note(ShapeNote(x)).Add();
    if (b.op_type() == "SoftmaxCrossEntropyLoss") {
      add(kF32, {4, 5}).Outputs(2).Note("outputs=2").Add();
      add(kF32, {2, 5, 3}).Outputs(2).Note("outputs=2 shape=[2,5,3]").Add();
    }
  }
}

}  // namespace

void AddNormalizationCases(std::vector<Case>& cases, uint64_t seed) {
  AddBatchNormalization(cases, seed);
  AddLayerNormalization(cases, seed);
  AddOthers(cases, seed);
  for (const char* op_type : {"Softmax", "LogSoftmax", "Hardmax"}) AddSoftmax(cases, op_type, seed);
  AddLosses(cases, seed);
}

}  // namespace deputy::conformance
