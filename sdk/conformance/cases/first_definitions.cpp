// Nodes of the first definitions, which hold in the operator sets 1 to 6: most of them differ from the next definition
// only in an attribute that names the input that may be overwritten.
#include <tuple>

#include "cases/families.hpp"
#include "definitions.hpp"

namespace deputy::conformance {
namespace {

// Completes the case of a definition.
void Finish(CaseBuilder& b, int32_t since) { b.Note("definition=" + std::to_string(since)).Since(since).Add(); }

void AddOverwritten(std::vector<Case>& cases, uint64_t seed) {
  for (const char* op_type : {"Abs", "Ceil", "Elu", "Exp", "Floor", "HardSigmoid", "LeakyRelu", "Log", "Neg",
                              "Reciprocal", "Relu", "Selu", "Sigmoid", "Sqrt", "Tanh", "Clip", "Dropout"}) {
    CaseBuilder b(cases, op_type, seed + 1);
    const double low = b.op_type() == "Log" || b.op_type() == "Sqrt" || b.op_type() == "Reciprocal" ? 0.25 : -2;
    b.In(b.Random(kF32, {2, 3, 4}, low, 2)).Quietly("consumed_inputs", Ints({0}));
    if (b.op_type() == "Dropout") b.With("is_test", Int(1));
    Finish(b, 1);
  }
  for (const char* op_type : {"Add", "Sub", "Mul", "Div", "Max", "Min", "Mean", "Sum"}) {
    CaseBuilder b(cases, op_type, seed + 1);
    b.In(b.Random({2, 3})).In(b.Random(kF32, {2, 3}, 0.5, 2)).Quietly("consumed_inputs", Ints({0, 0}));
    Finish(b, 1);
  }
  CaseBuilder slope(cases, "PRelu", seed + 1), instance(cases, "InstanceNormalization", seed + 1);
  slope.In(slope.Random({2, 3, 4, 5})).Const(slope.Random({3})).Quietly("consumed_inputs", Ints({0, 0}));
  Finish(slope, 1);
  instance.In(instance.Random({2, 3, 4, 5})).Const(instance.Random({3})).Const(instance.Random({3}));
  instance.Quietly("consumed_inputs", Ints({0, 0, 0}));
  Finish(instance, 1);
  CaseBuilder batch(cases, "BatchNormalization", seed + 1);
  const auto normalized = [&](const Dims& each) -> CaseBuilder& {
    batch.In(batch.Random({2, 3, 4, 5})).Const(batch.Random(kF32, each, 0.5, 2)).Const(batch.Random(each));
    return batch.Const(batch.Random(each)).Const(batch.Random(kF32, each, 0.25, 2));
  };
  normalized({3}).With("is_test", Int(1)).Quietly("consumed_inputs", Ints({0, 0, 0, 1, 1}));
  Finish(batch, 1);
  normalized({3, 4, 5}).With("spatial", Int(0));
  Finish(batch, 7);
}

void AddMoved(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder reshape(cases, "Reshape", seed + 1), pad(cases, "Pad", seed + 1), split(cases, "Split", seed + 1);
  reshape.In(reshape.Random({2, 3, 4})).With("shape", Ints({0, -1})).Quietly("consumed_inputs", Ints({0}));
  Finish(reshape, 1);
  pad.In(pad.Random({3, 4})).With("paddings", Ints({1, 0, 0, 2})).With("value", Float(1.5f));
  Finish(pad, 1);
  split.In(split.Random({6, 2})).With("split", Ints({2, 4})).Outputs(2);
  Finish(split, 1);
  CaseBuilder tile(cases, "Tile", seed + 1), upsample(cases, "Upsample", seed + 1);
  tile.In(tile.Random({2, 3})).Const(RealScalar(3)).Const(RealScalar(1)).Note("axis=1");
  Finish(tile, 1);
  for (const char* mode : {"nearest", "bilinear"}) {
    upsample.In(upsample.Random({1, 2, 4, 3})).With("mode", Text(mode));
    upsample.With("height_scale", Float(2)).With("width_scale", Float(3));
    Finish(upsample, 1);
  }
  for (const int32_t since : {6, 10}) {
    CaseBuilder dropout(cases, "Dropout", seed + static_cast<uint64_t>(since));
    dropout.In(dropout.Random({2, 3, 4})).With("ratio", Float(0.25f));
    if (since == 6) dropout.With("is_test", Int(1));
    Finish(dropout, since);
  }
}

void AddNamed(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder cast(cases, "Cast", seed + 1);
  for (const char* to : {"INT32", "DOUBLE", "BOOL"}) {
    cast.In(cast.Random(kF32, {2, 3, 4}, 0, 40)).With("to", Text(to));
    Finish(cast, 1);
  }
}

void AddComputed(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder pow(cases, "Pow", seed + 7);
  pow.In(pow.Random(kF32, {2, 3, 4}, 0.25, 2)).In(pow.Random(kF32, {4}, 0.5, 2));
  Finish(pow, 7);
  CaseBuilder sum(cases, "ReduceLogSum", seed + 1);
  sum.In(sum.Random(kF32, {2, 3, 4}, 0.25, 2)).With("axes", Ints({0, 2}));
  Finish(sum, 1);
  CaseBuilder pool(cases, "MaxPool", seed + 1);
  pool.In(pool.Distinct(kF32, {2, 3, 7, 6})).With("kernel_shape", Ints({3, 2})).With("strides", Ints({2, 2}));
  Finish(pool, 1);
  CaseBuilder power(cases, "LpPool", seed + 1), all(cases, "GlobalLpPool", seed + 1);
  for (const float p : {2.0f, 3.0f}) {
    power.In(power.Random({2, 3, 7, 6})).Quietly("kernel_shape", Ints({3, 2})).With("p", Float(p));
    Finish(power, 1);
    all.In(all.Random({2, 3, 4, 5})).With("p", Float(p));
    Finish(all, 1);
  }
  for (const auto& [op_type, since, gates] : std::vector<std::tuple<const char*, int32_t, int64_t>>{
           {"RNN", 1, 1}, {"GRU", 1, 3}, {"GRU", 3, 3}, {"LSTM", 1, 4}}) {
    CaseBuilder b(cases, op_type, seed + static_cast<uint64_t>(since));
    b.In(b.Random({4, 3, 5})).Const(b.Random(kF32, {1, gates * 6, 5}, -0.5, 0.5));
    b.Const(b.Random(kF32, {1, gates * 6, 6}, -0.5, 0.5)).Quietly("hidden_size", Int(6));
    b.With("output_sequence", Int(1)).Outputs(gates == 4 ? 3 : 2);
    Finish(b, since);
  }
}

}  // namespace

void AddFirstCases(std::vector<Case>& cases, uint64_t seed) {
  AddOverwritten(cases, seed);
  AddMoved(cases, seed);
  AddNamed(cases, seed);
  AddComputed(cases, seed);
}

}  // namespace deputy::conformance
