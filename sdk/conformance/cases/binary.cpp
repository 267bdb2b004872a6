// Functions of two inputs or more: element types, every way to broadcast, constants on either side.
#include <algorithm>

#include "cases/families.hpp"
#include "definitions.hpp"

namespace deputy::conformance {
namespace {

struct Pair {
  Dims a, b;
};

std::vector<Pair> Broadcasts() {
  return {{{2, 3, 4}, {}},
          {{}, {2, 3, 4}},
          {{2, 3, 4}, {4}},
          {{4}, {2, 3, 4}},
          {{2, 3, 4}, {2, 1, 4}},
          {{2, 1, 4}, {2, 3, 4}},
          {{2, 1, 4}, {1, 3, 1}},
          {{2, 3, 4, 5}, {3, 1, 1}},
          {{1, 3, 1, 5}, {2, 1, 4, 1}},
          {{}, {}},
          {{1}, {1}},
          {{0}, {1}},
          {{2, 0, 3}, {2, 1, 3}},
          {{7, 13}, {7, 13}},
          {{5}, {1, 5}}};
}

void AddOperator(std::vector<Case>& cases, const char* op_type, double low, double high, uint64_t seed) {
  CaseBuilder b(cases, op_type, seed);
  const std::vector<deputy_dtype> types = TypesOf(op_type);
  const deputy_dtype main =
      types.empty() || reference::IsReal(types.back()) || std::find(types.begin(), types.end(), kF32) != types.end()
          ? kF32
          : types[0];
  const Dims plain = {2, 3, 4};
  const bool prelu = b.op_type() == "PRelu";
  const auto left = [&](deputy_dtype t, const Dims& d) { return b.Random(t, d); };
  const auto right = [&](deputy_dtype t, const Dims& d) {
    Tensor tensor = b.Random(t, d, low, high);
    // No division by zero, and no shift by zero.
    for (int64_t& value : tensor.whole)
      if (low > 0 && value == 0) value = 1;
    return tensor;
  };
  b.In(left(main, plain)).In(right(main, plain)).Add();
  for (const deputy_dtype dtype : types)
    if (dtype != main) b.In(left(dtype, plain)).In(right(dtype, plain)).Add();
  b.In(left(main, plain)).Const(right(main, plain)).Note("second=constant").Add();
  b.In(left(main, plain)).Const(right(main, {})).Note("second=constant-scalar").Add();
  if (!prelu) b.Const(left(main, plain)).In(right(main, plain)).Note("first=constant").Add();
  if (!prelu) b.Const(left(main, {})).In(right(main, plain)).Note("first=constant-scalar").Add();
  for (const Pair& pair : Broadcasts()) {
    if (prelu && pair.a.size() < pair.b.size()) continue;
    if (prelu && reference::CountOf(pair.a) < reference::CountOf(pair.b)) continue;
    if (prelu && pair.a == Dims{2, 1, 4}) continue;
    if (prelu && pair.a == Dims{1, 3, 1, 5}) continue;
    b.In(left(main, pair.a)).In(right(main, pair.b));
    b.Note("broadcast=" + TextOf(pair.a) + TextOf(pair.b)).Add();
  }
}

void AddMany(std::vector<Case>& cases, const char* op_type, uint64_t seed) {
  CaseBuilder b(cases, op_type, seed);
  const auto x = [&](deputy_dtype t) { return b.Random(t, {2, 3, 4}); };
  for (const deputy_dtype dtype : TypesOf(op_type)) b.In(x(dtype)).In(x(dtype)).Add();
  b.In(x(kF32)).Note("inputs=1").Add();
  b.In(x(kF32)).In(x(kF32)).In(x(kF32)).Note("inputs=3").Add();
  b.In(b.Random({2, 1, 1})).In(b.Random({1, 3, 1})).In(b.Random({4})).Note("inputs=3 broadcast=all").Add();
  for (const Pair& pair : Broadcasts())
    b.In(b.Random(pair.a)).In(b.Random(pair.b)).Note("broadcast=" + TextOf(pair.a) + TextOf(pair.b)).Add();
}

void AddPow(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder b(cases, "Pow", seed);
  const auto base = [&](deputy_dtype t) { return b.Random(t, {2, 3, 4}, 0.25, 2); };
  const auto exponent = [&](deputy_dtype t) { return b.Random(t, {2, 3, 4}, 0.5, 2); };
  for (const deputy_dtype dtype : TypesOf("Pow")) b.In(base(dtype)).In(exponent(dtype)).Add();
  for (const double e : {2.0, 0.5, -1.0, 3.0, 0.0})
    b.In(base(kF32)).Const(RealScalar(e)).Note("exponent=" + std::to_string(e).substr(0, 4)).Add();
  b.In(base(kF32)).Const(WholeScalar(2)).Note("exponent-dtype=int64").Add();
  b.In(b.Random(kF32, {2, 3, 1}, 0.25, 2)).In(exponent(kF32)).Note("broadcast=[2,3,1][2,3,4]").Add();
  b.In(base(kF16)).Const(RealScalar(2, kF16)).Note("exponent=2.00").Add();
}

void AddMod(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder b(cases, "Mod", seed);
  const auto x = [&](deputy_dtype t) { return b.Random(t, {2, 3, 4}); };
  const auto y = [&](deputy_dtype t) {
    Tensor tensor = b.Random(t, {2, 3, 4}, -1.5, 1.5);
    for (int64_t& value : tensor.whole)
      if (value == 0) value = 3;
    return tensor;
  };
  for (const deputy_dtype dtype : TypesOf("Mod")) {
    b.In(x(dtype)).In(reference::IsReal(dtype) ? b.Random(dtype, {2, 3, 4}, 0.5, 2) : y(dtype)).Add();
    if (reference::IsReal(dtype))
      b.In(x(dtype)).In(b.Random(dtype, {2, 3, 4}, -2, -0.5)).Note("divisor=negative").Add();
    b.In(x(dtype)).In(b.Random(dtype, {2, 3, 4}, 0.5, 2)).With("fmod", Int(1)).Add();
  }
}

void AddBitShift(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder b(cases, "BitShift", seed);
  for (const deputy_dtype dtype : TypesOf("BitShift"))
    for (const char* direction : {"LEFT", "RIGHT"})
      b.In(b.Random(dtype, {2, 3, 4})).In(b.Random(dtype, {2, 3, 4}, 0, 1)).With("direction", Text(direction)).Add();
  for (const deputy_dtype dtype : {kI8, kI32, kU16}) {
    Tensor by(dtype, {4});
    const auto width = static_cast<int64_t>(8 * reference::BytesOf(dtype));
    for (const int64_t i : {0, 1, 2, 3})
      by.Put(i, std::vector<int64_t>{width - 1, width, -1, width + 3}[static_cast<size_t>(i)]);
    for (const char* direction : {"LEFT", "RIGHT"})
      b.In(b.Random(dtype, {3, 4})).In(by).With("direction", Text(direction)).Note("by=all").Add();
  }
}

void AddSwiGLU(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder b(cases, "SwiGLU", seed);
  const auto pair = [&](deputy_dtype dtype, const Dims& dims) -> CaseBuilder& {
    return b.In(b.Random(dtype, dims)).In(b.Random(dtype, dims));
  };
  for (const deputy_dtype dtype : TypesOf("SwiGLU")) pair(dtype, {2, 3, 4}).Add();
  pair(kF32, {2, 3, 4}).With("alpha", Float(1.5f)).Add();
  for (const Dims& shape : std::vector<Dims>{{}, {0}, {7, 13}}) pair(kF32, shape).Note("shape=" + TextOf(shape)).Add();
}

void AddWhere(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder b(cases, "Where", seed);
  const auto condition = [&](const Dims& dims) { return b.Random(kBool, dims); };
  for (const deputy_dtype dtype : TypesOf("Identity")) {
    b.In(condition({2, 3, 4})).In(b.Random(dtype, {2, 3, 4})).In(b.Random(dtype, {2, 3, 4}));
    b.Note(std::string("branches=") + reference::NameOf(dtype)).Add();
  }
  b.In(condition({3, 1})).In(b.Random({2, 3, 4})).In(b.Random({4})).Note("broadcast=[3,1][2,3,4][4]").Add();
  b.In(condition({2, 3, 4})).In(b.Random({})).In(b.Random({})).Note("broadcast=[2,3,4][][]").Add();
  b.In(condition({})).In(b.Random({2, 1})).In(b.Random({1, 3})).Note("broadcast=[][2,1][1,3]").Add();
  b.In(condition({0})).In(b.Random({1})).In(b.Random({0})).Note("shape=empty").Add();
}

}  // namespace

void AddBinaryCases(std::vector<Case>& cases, uint64_t seed) {
  for (const char* op_type : {"Add", "And", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Equal", "Greater",
                              "GreaterOrEqual", "Less", "LessOrEqual", "Mul", "Or", "PRelu", "Sub", "Xor"})
    AddOperator(cases, op_type, -2, 2, seed);
  AddOperator(cases, "Div", 0.5, 3, seed);
  for (const char* op_type : {"Max", "Mean", "Min", "Sum"}) AddMany(cases, op_type, seed);
  AddPow(cases, seed);
  AddMod(cases, seed);
  AddBitShift(cases, seed);
  AddSwiGLU(cases, seed);
  AddWhere(cases, seed);
}

}  // namespace deputy::conformance
