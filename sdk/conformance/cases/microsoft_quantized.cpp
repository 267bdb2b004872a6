// The operators of com.microsoft on integers of 8 bits.
#include "cases/families.hpp"
#include "definitions.hpp"

namespace deputy::conformance {
namespace {

Tensor Bytes(CaseBuilder& b, deputy_dtype dtype, const Dims& dims) { return b.Random(dtype, dims, -40, 40); }

// Input 0 with its parameters, and those of the output.
CaseBuilder& AddOne(CaseBuilder& b, deputy_dtype dtype, const Dims& dims, double y_scale = 0.125) {
  b.In(Bytes(b, dtype, dims)).Const(RealScalar(0.0625)).Const(Zero(dtype, {dtype == kU8 ? 120 : 5}));
  return b.Const(RealScalar(y_scale)).Const(Zero(dtype, {dtype == kU8 ? 100 : -7}));
}

void AddElementwise(std::vector<Case>& cases, uint64_t seed) {
  for (const char* name : {"Microsoft_QLinearLeakyRelu", "Microsoft_QLinearSigmoid"}) {
    CaseBuilder b(cases, name, seed);
    for (const deputy_dtype dtype : {kU8, kI8}) AddOne(b, dtype, {2, 3, 8}, 1.0 / 128).Add();
    b.In(Bytes(b, kU8, {2, 3, 8})).Const(RealScalar(0.0625)).None().Const(RealScalar(0.0625)).Note("zero-point=none");
    b.Add();
    for (const Dims& shape : std::vector<Dims>{{}, {1}, {0, 3}, {33, 17}})
      AddOne(b, kU8, shape).Note(ShapeNote(shape)).Add();
  }
  CaseBuilder leaky(cases, "Microsoft_QLinearLeakyRelu", seed);
  AddOne(leaky, kI8, {2, 3, 8}).With("alpha", Float(0.25f)).Add();
  for (const char* name : {"Microsoft_QLinearAdd", "Microsoft_QLinearMul"}) {
    CaseBuilder b(cases, name, seed);
    const auto two = [&](deputy_dtype dtype, const Dims& x, const Dims& y) -> CaseBuilder& {
      b.In(Bytes(b, dtype, x)).Const(RealScalar(0.0625)).Const(Zero(dtype, {dtype == kU8 ? 120 : 5}));
      b.In(Bytes(b, dtype, y)).Const(RealScalar(0.125)).Const(Zero(dtype, {dtype == kU8 ? 90 : -3}));
      return b.Const(RealScalar(0.25)).Const(Zero(dtype, {dtype == kU8 ? 128 : 1}));
    };
    for (const deputy_dtype dtype : {kU8, kI8}) two(dtype, {2, 3, 4}, {2, 3, 4}).Add();
    two(kU8, {2, 3, 4}, {4}).Note("broadcast=second").Add();
    two(kU8, {3, 1}, {2, 3, 4}).Note("broadcast=both").Add();
    two(kI8, {}, {5}).Note("broadcast=scalar").Add();
    b.In(Bytes(b, kU8, {2, 3})).Const(RealScalar(0.0625)).None().In(Bytes(b, kU8, {2, 3})).Const(RealScalar(0.125));
    b.None().Const(RealScalar(0.25)).Note("zero-point=none").Add();
  }
}

void AddPools(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder a(cases, "Microsoft_QLinearAveragePool", seed), g(cases, "Microsoft_QLinearGlobalAveragePool", seed);
  const auto pool = [&](deputy_dtype dtype, const Dims& x) -> CaseBuilder& {
    return AddOne(a, dtype, x).With("kernel_shape", Ints({2, 3}));
  };
  const Dims x = {2, 3, 6, 7};
  for (const deputy_dtype dtype : {kU8, kI8}) {
    pool(dtype, x).Add();
    AddOne(g, dtype, x).Add();
    AddOne(g, dtype, x).With("channels_last", Int(1)).Add();
  }
  pool(kU8, x).With("auto_pad", Text("SAME_UPPER")).Add();
  pool(kU8, x).With("channels_last", Int(1)).Add();
  pool(kU8, x).With("strides", Ints({2, 1})).Add();
  pool(kU8, {2, 3, 7, 8}).With("strides", Ints({2, 2})).With("ceil_mode", Int(1)).Add();
  pool(kU8, x).With("pads", Ints({1, 0, 0, 1})).Add();
  pool(kU8, x).With("pads", Ints({1, 1, 1, 1})).With("count_include_pad", Int(1)).Add();
  pool(kU8, {1, 3, 1, 2}).With("strides", Ints({2, 2})).Note("larger than the input").Add();
  pool(kU8, {1, 3, 1, 2})
      .With("strides", Ints({2, 2}))
      .With("count_include_pad", Int(1))
      .Note("larger than the input")
      .Add();
}

void AddRows(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder s(cases, "Microsoft_QLinearSoftmax", seed);
  for (const deputy_dtype dtype : {kU8, kI8}) {
    AddOne(s, dtype, {2, 3, 4}, 1.0 / 64).Quietly("opset", Int(13)).Add();
    AddOne(s, dtype, {2, 3, 4}, 1.0 / 64).With("opset", Int(13)).With("axis", Int(1)).Add();
    AddOne(s, dtype, {2, 3, 4}, 1.0 / 64).With("opset", Int(11)).With("axis", Int(1)).Add();
  }
  CaseBuilder c(cases, "Microsoft_QLinearConcat", seed);
  for (const deputy_dtype dtype : {kU8, kI8})
    for (const int64_t axis : {0, 1, -1}) {
      c.Const(RealScalar(0.125)).Const(Zero(dtype, {10}));
      for (const int64_t extent : {1, 3, 2}) {
        Dims dims = {2, 2, 2};
        dims[static_cast<size_t>(axis < 0 ? axis + 3 : axis)] = extent;
        c.In(Bytes(c, dtype, dims)).Const(RealScalar(0.0625 * static_cast<double>(extent)));
        c.Const(Zero(dtype, {extent * 7}));
      }
      c.With("axis", Int(axis)).Note(std::string("of=") + reference::NameOf(dtype)).Add();
    }
}

// The parameters of a case of DynamicQuantizeLSTM.
struct LstmForm {
  deputy_dtype weights = kU8;
  int64_t steps = 4, batch = 3, inputs = 5, hidden = 6, directions = 1;
  bool columns = false, bias = false, lengths = false, state = false, cell = false, peepholes = false, variable = false;
};

CaseBuilder& AddLstm(CaseBuilder& b, const LstmForm& form) {
  const auto small = [&](const Dims& dims) { return b.Random(kF32, dims, -0.5, 0.5); };
  const auto optional = [&](bool given, const Tensor& value) { given ? b.In(value) : b.None(); };
  const auto weight = [&](int64_t depth) {
    const Tensor bytes = Bytes(b, form.weights, {form.directions, depth, 4 * form.hidden});
    form.variable ? b.In(bytes) : b.Const(bytes);
  };
  const auto range = [&] {
    const Dims dims = form.columns ? Dims{form.directions, 4 * form.hidden} : Dims{form.directions};
    Tensor scale(kF32, dims), zero(form.weights, dims);
    for (int64_t i = 0; i < scale.count(); ++i) scale.Put(i, (8.0 + static_cast<double>(i % 5)) / 1024);
    for (int64_t i = 0; i < zero.count(); ++i) zero.Put(i, int64_t{form.weights == kU8 ? 20 : 0});
    b.Const(scale).Const(zero);
  };
  const Dims state = {form.directions, form.batch, form.hidden};
  b.In(b.Random({form.steps, form.batch, form.inputs}));
  weight(form.inputs);
  weight(form.hidden);
  optional(form.bias, small({form.directions, 8 * form.hidden}));
  Tensor lengths(kI32, {form.batch});
  for (int64_t i = 0; i < form.batch; ++i) lengths.Put(i, 1 + (form.steps - 1 + 2 * i) % form.steps);
  optional(form.lengths, lengths);
  optional(form.state, small(state));
  optional(form.cell, small(state));
  optional(form.peepholes, small({form.directions, 3 * form.hidden}));
  range();
  range();
  return b.Quietly("hidden_size", Int(form.hidden)).Outputs(3);
}

void AddLstms(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder b(cases, "Microsoft_DynamicQuantizeLSTM", seed);
  for (const deputy_dtype weights : {kU8, kI8})
    for (const bool columns : {false, true}) {
      LstmForm form;
      form.weights = weights;
      form.columns = columns;
      AddLstm(b, form).Note(std::string("of=") + reference::NameOf(weights) + (columns ? " scales=per-column" : ""));
      b.Add();
    }
  LstmForm one, all;
  one.bias = true;
  AddLstm(b, one).Note("input=B").Add();
  (one = LstmForm()).lengths = true;
  AddLstm(b, one).Note("input=sequence_lens").Add();
  one = LstmForm();
  one.state = one.cell = true;
  AddLstm(b, one).Note("input=initial_h,initial_c").Add();
  (one = LstmForm()).peepholes = true;
  AddLstm(b, one).Note("input=P").Add();
  (one = LstmForm()).variable = true;
  AddLstm(b, one).Note("weights=variable").Add();
  all.bias = all.lengths = all.state = all.cell = all.peepholes = all.columns = true;
  AddLstm(b, all).With("direction", Text("reverse")).Note("inputs=all").Add();
  all.directions = 2;
  AddLstm(b, all).With("direction", Text("bidirectional")).Note("inputs=all").Add();
  AddLstm(b, LstmForm()).With("input_forget", Int(1)).Add();
  one = LstmForm();
  one.steps = 2;
  AddLstm(b, one).With("clip", Float(0.25f)).Add();
  AddLstm(b, LstmForm())
      .Quietly("activations", Attribute::Strings({"HardSigmoid", "Tanh", "Tanh"}))
      .With("activation_alpha", Attribute::Floats({0.375f}))
      .With("activation_beta", Attribute::Floats({0.25f}))
      .Add();
  one = LstmForm();
  one.steps = one.batch = one.inputs = one.hidden = 1;
  AddLstm(b, one).Note("shape=[1,1,1]*1").Add();
}

void AddProducts(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder f(cases, "Microsoft_MatMulIntegerToFloat", seed), d(cases, "Microsoft_DynamicQuantizeMatMul", seed);
  const auto list = [](CaseBuilder& b) { return b.Random({3}); };
  for (const deputy_dtype a : {kU8, kI8})
    for (const deputy_dtype w : {kU8, kI8}) {
      const std::string of = std::string("of=") + reference::NameOf(w);
      f.In(Bytes(f, a, {2, 4, 5})).Const(Bytes(f, w, {5, 3})).Const(RealScalar(0.0625)).Const(RealScalar(0.125));
      f.Const(Zero(a, {7})).Const(Zero(w, {9})).Note(of).Add();
      f.In(Bytes(f, a, {4, 5})).Const(Bytes(f, w, {5, 3})).Const(RealScalar(0.0625)).Const(list(f)).None();
      f.Const(Zero(w, {9, 0, 3})).Const(list(f)).Note(of + " scales=per-column input=bias").Add();
      if (a == kI8) continue;
      d.In(d.Random({2, 4, 5})).Const(Bytes(d, w, {5, 3})).Const(RealScalar(0.125)).Const(Zero(w, {9})).Note(of).Add();
      d.In(d.Random({4, 5})).Const(Bytes(d, w, {5, 3})).Const(list(d)).Const(Zero(w, {9, 0, 3})).Const(list(d));
      d.Note(of + " scales=per-column input=bias").Add();
    }
  CaseBuilder g(cases, "Microsoft_QGemm", seed);
  const auto gemm = [&](deputy_dtype a, deputy_dtype w, bool turn_a, bool turn_b, bool columns) -> CaseBuilder& {
    g.In(Bytes(g, a, turn_a ? Dims{5, 4} : Dims{4, 5})).Const(RealScalar(0.0625)).Const(Zero(a, {7}));
    g.Const(Bytes(g, w, turn_b ? Dims{3, 5} : Dims{5, 3}));
    columns ? g.Const(Real({0.125, 0.25, 0.5})) : g.Const(RealScalar(0.125));
    g.Const(columns ? Zero(w, {9, 0, 3}) : Zero(w, {9}));
    if (turn_a) g.With("transA", Int(1));
    if (turn_b) g.With("transB", Int(1));
    return columns ? g.Note("scales=per-column") : g;
  };
  const auto whole = [](const Dims& dims) {
    Tensor made(kI32, dims);
    for (int64_t i = 0; i < made.count(); ++i) made.Put(i, i * 37 - 100);
    return made;
  };
  gemm(kU8, kI8, false, false, false).Add();
  gemm(kI8, kI8, false, false, true).Add();
  gemm(kU8, kU8, true, false, false).Add();
  for (const bool columns : {false, true}) gemm(kU8, kI8, false, true, columns).Add();
  g.In(Bytes(g, kU8, {4, 5})).Const(RealScalar(0.0625)).Const(Zero(kU8, {7})).In(Bytes(g, kI8, {5, 3}));
  g.Const(RealScalar(0.125)).Const(Zero(kI8, {9})).Note("weights=variable").Add();
  gemm(kU8, kI8, false, false, false).Const(whole({3})).With("alpha", Float(0.5f)).Note("input=C").Add();
  for (const deputy_dtype dtype : {kU8, kI8})
    for (const bool columns : {false, true}) {
      gemm(dtype, kI8, false, false, columns).Const(whole({4, 3})).Const(RealScalar(8)).Const(Zero(dtype, {20}));
      g.Note("output=quantized").Add();
    }
}

void AddConversions(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder q(cases, "Microsoft_QuantizeLinear", seed), d(cases, "Microsoft_DequantizeLinear", seed);
  for (const deputy_dtype dtype : std::vector<deputy_dtype>{kU8, kI8, kU16, kI16}) {
    q.In(q.Random({2, 3, 4})).Const(RealScalar(0.0625)).Const(Zero(dtype, {3}));
    q.Note(std::string("to=") + reference::NameOf(dtype)).Add();
    d.In(d.Random(dtype, {2, 3, 4}, 0, 40)).Const(RealScalar(0.0625)).Const(Zero(dtype, {3})).Add();
  }
  d.In(d.Random(kI32, {2, 3, 4}, -40, 40)).Const(RealScalar(0.0625)).Add();
  q.In(q.Random(kF16, {2, 3, 4})).Const(RealScalar(0.0625, kF16));
  q.Const(Zero(kU8, {33})).Add();
  q.In(q.Random({2, 3, 4})).Const(Real({0.0625, 0.125, 0.25})).Const(Zero(kU8, {9, 10, 11}));
  q.With("axis", Int(1)).Add();
  d.In(d.Random(kU8, {2, 3, 4}, 0, 40)).Const(Real({0.0625, 0.125, 0.25, 0.5})).Const(Zero(kU8, {9, 10, 11, 12}));
  d.With("axis", Int(2)).Add();
}

}  // namespace

void AddMicrosoftQuantizedCases(std::vector<Case>& cases, uint64_t seed) {
  AddElementwise(cases, seed);
  AddPools(cases, seed);
  AddRows(cases, seed);
  AddLstms(cases, seed);
  AddProducts(cases, seed);
  AddConversions(cases, seed);
}

}  // namespace deputy::conformance
