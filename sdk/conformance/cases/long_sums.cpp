// Sums of thousands of terms of one sign: of float16 beyond its largest number, and beyond that at which a further term
// changes nothing; of 8-bit products beyond 24 bits. An accumulator that is too narrow shows in no short sum.
#include "cases/families.hpp"

namespace deputy::conformance {
namespace {

constexpr int64_t kTerms = 4608, kMany = 8192;

Tensor Largest(deputy_dtype dtype, Dims dims) {
  Tensor tensor(dtype, std::move(dims));
  for (int64_t i = 0; i < tensor.count(); ++i) tensor.Put(i, int64_t{dtype == kU8 ? 255 : 127});
  return tensor;
}

std::string NoteOf(int64_t terms) { return "terms=" + std::to_string(terms) + " of one sign"; }

void AddReductions(std::vector<Case>& cases, uint64_t seed) {
  for (const char* op_type :
       {"ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMean", "ReduceSum", "ReduceSumSquare"}) {
    CaseBuilder b(cases, op_type, seed + 1);
    // Only these have a result that float16 holds where the sum is larger.
    const bool passes = b.op_type() == "ReduceMean", squares = b.op_type() == "ReduceL2";
    const double low = passes ? 20 : squares ? 4 : 1;
    b.In(b.Random(kF16, {2, kMany}, low, 2 * low)).Const(Whole({1})).Note(NoteOf(kMany)).Add();
    b.In(b.Random(kF16, {1, 2, 64, 64}, low, 2 * low)).Const(Whole({2, 3})).Note(NoteOf(4096)).Add();
  }
}

void AddPoolsAndNormalizations(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder global(cases, "GlobalAveragePool", seed + 1), pool(cases, "AveragePool", seed + 1);
  for (const int64_t channels : {2, 8}) {
    global.In(global.Random(kF16, {1, channels, 64, 64}, 20, 40)).Note(NoteOf(4096));
    global.Note("channels=" + std::to_string(channels)).Add();
  }
  pool.In(pool.Random(kF16, {1, 8, 52, 52}, 20, 40)).Quietly("kernel_shape", Ints({48, 48})).Note(NoteOf(2304)).Add();
  CaseBuilder layer(cases, "LayerNormalization", seed + 1), instance(cases, "InstanceNormalization", seed + 1);
  layer.In(layer.Random(kF16, {2, 4096}, 20, 40)).Const(layer.Random(kF16, {4096}, 0.5, 2));
  layer.Const(layer.Random(kF16, {4096})).Note(NoteOf(4096)).Add();
  instance.In(instance.Random(kF16, {1, 2, 64, 64}, 20, 40)).Const(instance.Random(kF16, {2}, 0.5, 2));
  instance.Const(instance.Random(kF16, {2})).Note(NoteOf(4096)).Add();
  for (const char* op_type : {"Softmax", "LogSoftmax"}) {
    CaseBuilder b(cases, op_type, seed + 1);
    b.In(b.Random(kF16, {2, kMany}, 0, 0.125)).Note(NoteOf(kMany)).Add();
  }
}

void AddProducts(std::vector<Case>& cases, uint64_t seed) {
  for (const char* op_type : {"MatMul", "Gemm"}) {
    CaseBuilder b(cases, op_type, seed + 1);
    for (const bool constant : {true, false}) {
      b.In(b.Random(kF16, {2, kMany}, 0.75, 1.5));
      const Tensor weights = b.Random(kF16, {kMany, 8}, 0.75, 1.5);
      constant ? b.Const(weights) : b.In(weights);
      b.Note(NoteOf(kMany) + (constant ? "" : " second=variable")).Add();
    }
  }
  CaseBuilder b(cases, "Conv", seed + 1);
  b.In(b.Random(kF16, {1, 1024, 4, 4}, 0.75, 1.5)).Const(b.Random(kF16, {8, 1024, 3, 3}, 0.75, 1.5));
  b.Note(NoteOf(9 * 1024)).Add();
}

void AddQuantized(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder product(cases, "MatMulInteger", seed + 1), scaled(cases, "QLinearMatMul", seed + 1);
  CaseBuilder conv(cases, "ConvInteger", seed + 1), scaled_conv(cases, "QLinearConv", seed + 1);
  const double scale = 1.0 / 256;
  const Dims image = {1, kTerms / 9, 3, 3}, kernel = {4, kTerms / 9, 3, 3};
  for (const auto& [xt, wt] : {std::pair<deputy_dtype, deputy_dtype>(kU8, kU8), {kU8, kI8}, {kI8, kI8}}) {
    const std::string note = NoteOf(kTerms) + (xt == wt ? "" : " second=int8");
    for (const bool zeros : {false, true}) {
      product.In(Largest(xt, {2, kTerms})).Const(Largest(wt, {kTerms, 4}));
      if (zeros) product.Const(Zero(xt, {1})).Const(Zero(wt, {1}));
      product.Note(note + (zeros ? " zero-points=1" : "")).Add();
    }
    scaled.In(Largest(xt, {2, kTerms})).Const(RealScalar(scale)).Const(Zero(xt, {0}));
    scaled.Const(Largest(wt, {kTerms, 4})).Const(RealScalar(scale)).Const(Zero(wt, {0}));
    scaled.Const(RealScalar(32)).Const(Zero(xt, {0})).Note(note).Add();
    if (xt == kU8) conv.In(Largest(xt, image)).Const(Largest(wt, kernel)).Note(note).Add();
    scaled_conv.In(Largest(xt, image)).Const(RealScalar(scale)).Const(Zero(xt, {0}));
    scaled_conv.Const(Largest(wt, kernel)).Const(RealScalar(scale)).Const(Zero(wt, {0}));
    scaled_conv.Const(RealScalar(32)).Const(Zero(xt, {0})).Note(note).Add();
  }
}

}  // namespace

void AddLongSumsCases(std::vector<Case>& cases, uint64_t seed) {
  AddReductions(cases, seed);
  AddPoolsAndNormalizations(cases, seed);
  AddProducts(cases, seed);
  AddQuantized(cases, seed);
}

}  // namespace deputy::conformance
