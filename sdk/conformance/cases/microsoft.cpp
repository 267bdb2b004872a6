// The operators of com.microsoft that compute with floats, but for attention; and SimplifiedLayerNormalization.
#include "cases/families.hpp"
#include "definitions.hpp"

namespace deputy::conformance {
namespace {

void AddGelus(std::vector<Case>& cases, uint64_t seed) {
  for (const char* name : {"Microsoft_BiasGelu", "Microsoft_FastGelu", "Microsoft_Gelu", "Microsoft_QuickGelu"}) {
    CaseBuilder b(cases, name, seed);
    const bool biased = b.op_type() == "Microsoft_BiasGelu";
    const auto one = [&](deputy_dtype dtype, const Dims& dims) -> CaseBuilder& {
      b.In(b.Random(dtype, dims));
      return biased ? b.In(b.Random(dtype, {dims.back()})) : b;
    };
    one(kF32, {2, 3, 8}).Add();
    for (const deputy_dtype dtype : TypesOf(name))
      if (dtype != kF32) one(dtype, {2, 3, 8}).Add();
    for (const Dims& shape : std::vector<Dims>{{1}, {7}, {3, 1}, {0, 4}, {2, 3, 1, 33}})
      one(kF32, shape).Note(ShapeNote(shape)).Add();
  }
  CaseBuilder fast(cases, "Microsoft_FastGelu", seed), quick(cases, "Microsoft_QuickGelu", seed);
  fast.In(fast.Random({2, 3, 8})).In(fast.Random({8})).Note("input=bias").Add();
  quick.In(quick.Random({2, 3, 8})).With("alpha", Float(0.5f)).Add();
}

void AddProducts(std::vector<Case>& cases, uint64_t seed) {
  for (const char* name : {"Microsoft_FusedMatMul", "Microsoft_TransposeMatMul"}) {
    CaseBuilder b(cases, name, seed);
    const auto two = [&](deputy_dtype dtype, const Dims& x, const Dims& y) -> CaseBuilder& {
      return b.In(b.Random(dtype, x)).In(b.Random(dtype, y));
    };
    two(kF32, {4, 4}, {4, 4}).Add();
    for (const deputy_dtype dtype : TypesOf(name))
      if (dtype != kF32) two(dtype, {4, 5}, {5, 3}).Add();
    two(kF32, {4, 4}, {4, 4}).With("alpha", Float(0.5f)).Add();
    two(kF32, {4, 4}, {4, 4}).With("transA", Int(1)).Add();
    two(kF32, {4, 4}, {4, 4}).With("transB", Int(1)).Add();
    two(kF32, {2, 5, 3}, {2, 4, 5}).With("transA", Int(1)).With("transB", Int(1)).Note("rank=3").Add();
    two(kF32, {2, 1, 4, 5}, {3, 5, 2}).Note("shape=broadcast").Add();
    two(kF32, {5}, {3, 5, 2}).Note("shape=row").Add();
    two(kF32, {3, 4, 5}, {5}).Note("shape=column").Add();
  }
  CaseBuilder b(cases, "Microsoft_FusedMatMul", seed);
  for (const int64_t turned : {0, 1}) {
    b.In(b.Random({4, 2, 3, 4})).In(b.Random({2, 3, 4, 5})).With("transBatchA", Int(1)).With("transA", Int(turned));
    b.Note("rank=4").Add();
    b.In(b.Random({2, 3, 4, 5})).In(b.Random({5, 2, 3, 5})).With("transBatchB", Int(1)).With("transB", Int(turned));
    b.Note("rank=4").Add();
  }
}

void AddFused(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder g(cases, "Microsoft_FusedGemm", seed), c(cases, "Microsoft_FusedConv", seed);
  const auto gemm = [&](deputy_dtype t, const char* activation) -> CaseBuilder& {
    return g.In(g.Random(t, {4, 4})).In(g.Random(t, {4, 4})).In(g.Random(t, {4})).With("activation", Text(activation));
  };
  for (const char* name : {"Relu", "Sigmoid", "Tanh", "Softplus", "Softsign"}) gemm(kF32, name).Add();
  for (const deputy_dtype dtype : TypesOf("Microsoft_FusedGemm"))
    if (dtype != kF32) gemm(dtype, "Relu").Add();
  for (const char* name : {"alpha", "beta"}) gemm(kF32, "Relu").With(name, Float(0.5f)).Add();
  for (const char* name : {"transA", "transB"}) gemm(kF32, "Relu").With(name, Int(1)).Add();
  for (const char* name : {"LeakyRelu", "Elu", "Celu", "ThresholdedRelu"})
    gemm(kF32, name).With("activation_alpha", Float(0.25f)).Add();
  gemm(kF32, "HardSigmoid").With("activation_alpha", Float(0.25f)).With("activation_beta", Float(0.75f)).Add();
  gemm(kF32, "Selu").With("activation_alpha", Float(1.5f)).With("activation_gamma", Float(1.25f)).Add();

  const auto conv = [&](deputy_dtype t, const char* activation) -> CaseBuilder& {
    c.In(c.Random(t, {1, 4, 6, 6})).In(c.Random(t, {4, 4, 3, 3})).In(c.Random(t, {4}));
    return c.With("activation", Text(activation));
  };
  for (const char* name : {"Relu", "Sigmoid", "Tanh"}) conv(kF32, name).Add();
  for (const deputy_dtype dtype : TypesOf("Microsoft_FusedConv"))
    if (dtype != kF32) conv(dtype, "Relu").Add();
  conv(kF32, "LeakyRelu").With("activation_params", Attribute::Floats({0.25f})).Add();
  conv(kF32, "HardSigmoid").With("activation_params", Attribute::Floats({0.25f, 0.75f})).Add();
  conv(kF32, "Clip").With("activation_params", Attribute::Floats({-0.5f, 1.5f})).Add();
  conv(kF32, "Relu").In(c.Random({1, 4, 4, 4})).Note("input=Z").Add();
  conv(kF32, "Relu").With("auto_pad", Text("SAME_UPPER")).Add();
  conv(kF32, "Relu").With("dilations", Ints({2, 1})).Add();
  conv(kF32, "Relu").With("kernel_shape", Ints({3, 3})).Add();
  conv(kF32, "Relu").With("pads", Ints({1, 0, 0, 2})).Add();
  conv(kF32, "Relu").With("strides", Ints({2, 1})).Add();
  c.In(c.Random({1, 4, 6, 6})).In(c.Random({4, 2, 3, 3})).With("group", Int(2)).Add();
}

void AddNormalizations(std::vector<Case>& cases, uint64_t seed) {
  for (const bool simplified : {false, true}) {
    const char* name = simplified ? "Microsoft_SkipSimplifiedLayerNormalization" : "Microsoft_SkipLayerNormalization";
    CaseBuilder b(cases, name, seed);
    const auto three = [&](deputy_dtype t, const Dims& x, const Dims& skip) -> CaseBuilder& {
      return b.In(b.Random(t, x)).In(b.Random(t, skip)).In(b.Random(t, {x.back()}));
    };
    const Dims x = {2, 3, 8};
    three(kF32, x, x).Add();
    for (const deputy_dtype dtype : TypesOf(name))
      if (dtype != kF32) three(dtype, x, x).Add();
    three(kF32, x, x).With("epsilon", Float(0.25f)).Add();
    three(kF32, x, x).Outputs(4).Note("outputs=4").Add();
    three(kF32, x, x).In(b.Random({8})).Note("input=3").Outputs(4).Add();
    if (!simplified) three(kF32, x, x).In(b.Random({8})).In(b.Random({8})).Note("input=4").Outputs(4).Add();
    three(kF32, {6, 8}, {6, 8}).Note("rank=2").Add();
    three(kF32, {2, 3, 33}, {1, 3, 33}).Note("shape=skip-[1,3,33]").Add();
    three(kF32, {2, 3, 33}, {3, 33}).Note("shape=skip-[3,33]").Add();
  }
  CaseBuilder s(cases, "SimplifiedLayerNormalization", seed);
  s.In(s.Random({2, 3, 4})).In(s.Random({4})).Add();
  for (const deputy_dtype dtype : TypesOf(s.op_type()))
    if (dtype != kF32) s.In(s.Random(dtype, {2, 3, 4})).In(s.Random(dtype, {4})).Add();
  s.In(s.Random({2, 3, 4})).In(s.Random({4})).With("epsilon", Float(0.25f)).Add();
  s.In(s.Random({2, 3, 4})).In(s.Random({3, 4})).With("axis", Int(1)).Add();

  CaseBuilder e(cases, "Microsoft_EmbedLayerNormalization", seed);
  const auto numbers = [](const Dims& dims, int64_t below) {
    Tensor made(kI32, dims);
    for (int64_t i = 0; i < made.count(); ++i) made.Put(i, (i * 5 + 3) % below);
    return made;
  };
  const auto embed = [&](deputy_dtype t, bool segments) -> CaseBuilder& {
    e.In(numbers({2, 3}, 7));
    segments ? e.In(numbers({2, 3}, 2)) : e.None();
    e.Const(e.Random(t, {7, 8})).Const(e.Random(t, {5, 8}));
    segments ? e.Const(e.Random(t, {2, 8})) : e.None();
    return e.Const(e.Random(t, {8})).Const(e.Random(t, {8}));
  };
  embed(kF32, true).Add();
  embed(kF16, true).Note("tables=float16").Add();
  embed(kF32, false).Note("segments=none").Outputs(2).Add();
  embed(kF32, true).With("epsilon", Float(0.25f)).Add();
  embed(kF32, true).In(numbers({2, 3}, 2)).Outputs(3).Note("input=mask outputs=3").Add();
  embed(kF32, true).None().In(numbers({2, 3}, 5)).Note("input=position_ids").Add();
  embed(kF32, true).None().In(numbers({1, 3}, 5)).Note("input=position_ids-[1,3]").Add();
}

void AddMatMulNBits(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder b(cases, "Microsoft_MatMulNBits", seed);
  struct Shape {
    int64_t rows, columns, block, bits;
  };
  const auto bytes = [&](const Dims& dims) {
    Tensor made(kU8, dims);
    for (int64_t i = 0; i < made.count(); ++i) made.Put(i, (i * 89 + 37) % 256);
    return made;
  };
  const auto start = [&](deputy_dtype t, const Dims& x, const Shape& s) -> CaseBuilder& {
    const int64_t blocks = (s.rows + s.block - 1) / s.block;
    b.In(b.Random(t, x)).Const(bytes({s.columns, blocks, s.block * s.bits / 8}));
    b.Const(b.Random(t, {s.columns, blocks}, -0.5, 0.5));
    return b.With("K", Int(s.rows))
        .With("N", Int(s.columns))
        .With("block_size", Int(s.block))
        .With("bits", Int(s.bits));
  };
  start(kF32, {3, 32}, {32, 8, 16, 4}).Add();
  for (const deputy_dtype dtype : TypesOf(b.op_type()))
    if (dtype != kF32) start(dtype, {3, 32}, {32, 8, 16, 4}).Add();
  start(kF32, {2, 1, 40}, {40, 5, 32, 4}).Note("shape=[2,1,40]").Add();
  for (const int64_t bits : {2, 4, 8}) {
    start(kF32, {1, 70}, {70, 37, 16, bits}).Add();
    start(kF32, {17, 70}, {70, 37, 16, bits}).Const(bytes({37, (5 * bits + 7) / 8})).Note("zero-points=packed").Add();
  }
  start(kF32, {3, 70}, {70, 9, 64, 4}).Const(b.Random(kF32, {9, 2}, 2, 8)).Note("zero-points=float32").Add();
  start(kF32, {3, 32}, {32, 8, 16, 4}).None().None().In(b.Random({8})).Note("input=bias").Add();
}

}  // namespace

void AddMicrosoftCases(std::vector<Case>& cases, uint64_t seed) {
  AddGelus(cases, seed);
  AddProducts(cases, seed);
  AddFused(cases, seed);
  AddNormalizations(cases, seed);
  AddMatMulNBits(cases, seed);
}

}  // namespace deputy::conformance
