// Functions of one element: every element type, awkward shapes, and each attribute.
#include <cmath>
#include <limits>

#include "cases/families.hpp"
#include "definitions.hpp"

namespace deputy::conformance {
namespace {

struct Function {
  const char* op_type;
  double low = -2, high = 2;  // where it is defined
  std::vector<Setting> settings = {};
};

std::vector<Function> Functions() {
  return {{"Abs"},
          {"Acos", -1, 1},
          {"Acosh", 1, 4},
          {"Asin", -1, 1},
          {"Asinh"},
          {"Atan"},
          {"Atanh", -0.9375, 0.9375},
          {"BitwiseNot"},
          {"Ceil"},
          {"Celu", -2, 2, {{"alpha", Float(0.5f)}}},
          {"Cos"},
          {"Cosh"},
          {"Elu", -2, 2, {{"alpha", Float(0.5f)}}},
          {"Erf"},
          {"Exp"},
          {"Floor"},
          {"Gelu", -2, 2, {{"approximate", Text("tanh")}}},
          {"HardSigmoid", -4, 4, {{"alpha", Float(0.375f)}, {"beta", Float(0.25f)}}},
          {"HardSwish", -4, 4},
          {"Identity"},
          {"LeakyRelu", -2, 2, {{"alpha", Float(0.25f)}}},
          {"Log", 0.125, 4},
          {"Mish"},
          {"Neg"},
          {"Not"},
          {"Reciprocal", 0.25, 4},
          {"Relu"},
          {"Round"},
          {"Selu", -2, 2, {{"alpha", Float(1.25f)}, {"gamma", Float(0.75f)}}},
          {"Shrink", -2, 2, {{"bias", Float(0.25f)}, {"lambd", Float(1.0f)}}},
          {"Sigmoid"},
          {"Sign"},
          {"Sin"},
          {"Sinh"},
          {"Softplus"},
          {"Softsign"},
          {"Sqrt", 0, 4},
          {"Swish", -2, 2, {{"alpha", Float(1.5f)}}},
          {"Tan", -1, 1},
          {"Tanh"},
          {"ThresholdedRelu", -2, 2, {{"alpha", Float(0.5f)}}}};
}

void AddFunction(std::vector<Case>& cases, const Function& function, uint64_t seed) {
  CaseBuilder b(cases, function.op_type, seed);
  const std::vector<deputy_dtype> types = TypesOf(function.op_type);
  const deputy_dtype main = types.empty() || reference::IsReal(types[0]) ? kF32 : types[0];
  const auto random = [&](deputy_dtype dtype, const Dims& dims) {
    return b.Random(dtype, dims, function.low, function.high);
  };
  b.In(random(main, {2, 3, 4, 5})).Add();
  for (const deputy_dtype dtype : types)
    if (dtype != main) b.In(random(dtype, {2, 3, 4, 5})).Add();
  for (const Dims& shape : AwkwardShapes()) b.In(random(main, shape)).Note(ShapeNote(shape)).Add();
  for (const Setting& setting : function.settings)
    b.In(random(main, {2, 3, 4, 5})).With(setting.name, setting.value).Add();
}

void AddClip(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder b(cases, "Clip", seed);
  const auto x = [&](deputy_dtype dtype) { return b.Random(dtype, {2, 3, 4}); };
  for (const deputy_dtype dtype : TypesOf("Clip"))
    b.In(x(dtype)).Const(RealScalar(1, dtype)).Const(RealScalar(3, dtype)).Add();
  b.In(x(kF32)).Note("no-limits").Add();
  b.In(x(kF32)).Const(RealScalar(-0.5)).Note("input=min").Add();
  b.In(x(kF32)).None().Const(RealScalar(0.5)).Note("input=max").Add();
  b.In(x(kF32)).In(RealScalar(-0.5)).In(RealScalar(0.75)).Note("limits=variable").Add();
  b.In(x(kF32)).Const(RealScalar(0.5)).Const(RealScalar(-0.5)).Note("limits=exchanged").Add();
  for (const Dims& shape : AwkwardShapes())
    b.In(b.Random(kF32, shape)).Const(RealScalar(-0.5)).Const(RealScalar(0.75)).Note(ShapeNote(shape)).Add();
}

void AddCast(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder b(cases, "Cast", seed);
  const std::vector<deputy_dtype> types = TypesOf("Cast");
  for (const deputy_dtype to : types) {
    b.In(b.Random(kF32, {2, 3, 4}, 0, 40)).Quietly("to", Int(to));
    b.Note(std::string("to=") + reference::NameOf(to)).Add();
  }
  for (const deputy_dtype from : types) {
    if (from == kF32) continue;
    const deputy_dtype to = from == kI32 ? kI64 : kI32;
    for (const deputy_dtype target : {to, deputy_dtype{kF32}}) {
      b.In(b.Random(from, {2, 3, 4}, 0, 40)).Quietly("to", Int(target));
      b.Note(std::string("to=") + reference::NameOf(target)).Add();
    }
  }
  for (const Dims& shape : AwkwardShapes())
    b.In(b.Random(kF32, shape, 0, 40)).Quietly("to", Int(kI32)).Note(ShapeNote(shape)).Add();
}

void AddBitCast(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder b(cases, "BitCast", seed);
  for (const deputy_dtype from : TypesOf("BitCast"))
    for (const deputy_dtype to : TypesOf("BitCast")) {
      if (from == to || to == kBool || reference::BytesOf(from) != reference::BytesOf(to)) continue;
      // The bits of small whole numbers are subnormal floats.
      const bool bits = reference::IsReal(to) && !reference::IsReal(from);
      b.In(bits ? b.Random(from, {2, 3, 4}, 0, 2) : b.Random(from, {2, 3, 4})).Quietly("to", Int(to));
      b.Note(std::string("to=") + reference::NameOf(to)).Add();
    }
  Tensor flags(kU8, {3});
  flags.Put(1, int64_t{1});
  b.In(flags).With("to", Int(kBool)).Add();
  for (const Dims& shape : AwkwardShapes())
    b.In(b.Random(kF32, shape)).Quietly("to", Int(kI32)).Note(ShapeNote(shape)).Add();
}

void AddCastLike(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder b(cases, "CastLike", seed);
  const std::vector<deputy_dtype> types = TypesOf("CastLike");
  for (const deputy_dtype to : types) {
    b.In(b.Random(kF32, {2, 3, 4}, 0, 40)).Const(Tensor(to, {1}));
    b.Note(std::string("to=") + reference::NameOf(to)).Add();
  }
  for (const deputy_dtype from : types) {
    const deputy_dtype to = from == kI32 ? kI64 : kI32;
    if (from != kF32) b.In(b.Random(from, {2, 3, 4}, 0, 40)).Const(Tensor(to, {1})).Add();
  }
  b.In(b.Random({2, 3, 4})).In(b.Random(kI32, {5})).Note("like=variable").Add();
}

void AddTests(std::vector<Case>& cases, uint64_t seed) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  const double special[] = {0, 1, -2.5, kInfinite, -kInfinite, std::nan(""), -0.0, 65504};
  const auto values = [&](deputy_dtype dtype) {
    Tensor x(dtype, {2, 4});
    for (int64_t i = 0; i < x.count(); ++i) x.Put(i, special[i]);
    return x;
  };
  CaseBuilder nan(cases, "IsNaN", seed), infinite(cases, "IsInf", seed);
  for (const deputy_dtype dtype : TypesOf("IsNaN")) nan.In(values(dtype)).Add();
  for (const deputy_dtype dtype : TypesOf("IsInf")) infinite.In(values(dtype)).Add();
  infinite.In(values(kF32)).With("detect_negative", Int(0)).Add();
  infinite.In(values(kF32)).With("detect_positive", Int(0)).Add();
}

void AddImageScaler(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder b(cases, "ImageScaler", seed);
  const std::vector<float> bias = {0.5f, -1.25f, 2};
  for (const deputy_dtype dtype : TypesOf("ImageScaler"))
    b.In(b.Random(dtype, {2, 3, 4, 5})).Quietly("bias", Attribute::Floats(bias)).Add();
  b.In(b.Random({2, 3, 4, 5})).With("bias", Attribute::Floats(bias)).With("scale", Float(0.0625f)).Add();
  for (const Dims& shape : std::vector<Dims>{{1, 3, 1, 1}, {0, 3, 4, 5}, {1, 3, 17, 33}})
    b.In(b.Random(shape)).Quietly("bias", Attribute::Floats(bias)).Note(ShapeNote(shape)).Add();
}

// The experimental functions, of which some have no attribute with a default.
void AddScaledFunctions(std::vector<Case>& cases, uint64_t seed) {
  for (const char* name : {"Affine", "ParametricSoftplus", "ScaledTanh"}) {
    CaseBuilder b(cases, name, seed);
    const auto with = [&](const Tensor& x, float alpha, float beta) -> CaseBuilder& {
      return b.In(x).With("alpha", Float(alpha)).With("beta", Float(beta));
    };
    for (const deputy_dtype dtype : TypesOf(name)) with(b.Random(dtype, {2, 3, 4, 5}), 1.5f, 0.5f).Add();
    with(b.Random({2, 3, 4, 5}), -0.5f, -1.25f).Add();
    for (const Dims& shape : AwkwardShapes()) with(b.Random(kF32, shape), 1.5f, 0.5f).Note(ShapeNote(shape)).Add();
  }
  CaseBuilder b(cases, "Scale", seed);
  for (const deputy_dtype dtype : TypesOf("Scale"))
    b.In(b.Random(dtype, {2, 3, 4, 5})).With("scale", Float(0.375f)).Add();
  for (const Dims& shape : AwkwardShapes())
    b.In(b.Random(kF32, shape)).With("scale", Float(-2.5f)).Note(ShapeNote(shape)).Add();
}

}  // namespace

void AddElementwiseCases(std::vector<Case>& cases, uint64_t seed) {
  for (const Function& function : Functions()) AddFunction(cases, function, seed);
  AddClip(cases, seed);
  AddCast(cases, seed);
  AddCastLike(cases, seed);
  AddBitCast(cases, seed);
  AddTests(cases, seed);
  AddImageScaler(cases, seed);
  AddScaledFunctions(cases, seed);
  CaseBuilder dropout(cases, "Dropout", seed);
  for (const deputy_dtype dtype : TypesOf("Dropout")) dropout.In(dropout.Random(dtype, {2, 3, 4})).Add();
  dropout.In(dropout.Random({2, 3, 4})).Outputs(2).Note("outputs=2").Add();
  dropout.In(dropout.Random({2, 3, 4})).Const(RealScalar(0.25)).Note("input=ratio").Add();
}

}  // namespace deputy::conformance
