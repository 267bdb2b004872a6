// Between floats and small integers.
#include "cases/families.hpp"
#include "definitions.hpp"

namespace deputy::conformance {
namespace {

const char* NameOf(deputy_dtype dtype) { return reference::NameOf(dtype); }

}  // namespace

void AddQuantizationCases(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder q(cases, "QuantizeLinear", seed), d(cases, "DequantizeLinear", seed);
  for (const deputy_dtype dtype : {kU8, kI8, kU16, kI16}) {
    q.In(q.Random({2, 3, 4})).Const(RealScalar(0.0625)).Const(Zero(dtype, {3}));
    q.Note(std::string("to=") + NameOf(dtype)).Add();
    d.In(d.Random(dtype, {2, 3, 4}, 0, 40)).Const(RealScalar(0.0625)).Const(Zero(dtype, {3})).Add();
  }
  d.In(d.Random(kI32, {2, 3, 4}, -40, 40)).Const(RealScalar(0.0625)).Add();
  q.In(q.Random({2, 3, 4})).Const(RealScalar(0.0078125)).Const(Zero(kU8, {128})).Note("values=saturated").Add();
  for (const deputy_dtype dtype : {kI32, kF16, kBF16}) {
    const deputy_dtype scale = dtype == kI32 ? kF32 : dtype;
    q.In(q.Random(dtype, {2, 3, 4})).Const(RealScalar(0.0625, scale)).Const(Zero(kU8, {33})).Add();
  }
  q.In(q.Random({2, 3, 4})).Const(RealScalar(0.0625)).Note("zero-point=none").Add();
  d.In(d.Random(kU8, {2, 3, 4}, 0, 40)).Const(RealScalar(0.0625)).Note("zero-point=none").Add();
  d.In(d.Random(kU8, {2, 3, 4}, 0, 40)).Const(RealScalar(0.0625, kF16)).Note("scale=float16").Add();
  for (const int64_t axis : {1, 2, -2}) {
    const Dims x = {2, 3, 4};
    const int64_t extent = x[static_cast<size_t>(axis < 0 ? axis + 3 : axis)];
    std::vector<double> scales;
    std::vector<int64_t> zeros;
    for (int64_t i = 0; i < extent; ++i) {
      scales.push_back(0.0625 * static_cast<double>(i + 1));
      zeros.push_back(10 + i);
    }
    q.In(q.Random(x)).Const(Real(scales)).Const(Zero(kU8, zeros)).Note("scales=per-axis").With("axis", Int(axis)).Add();
    d.In(d.Random(kU8, x, 0, 40)).Const(Real(scales)).Const(Zero(kU8, zeros)).Note("scales=per-axis");
    d.With("axis", Int(axis)).Add();
  }
  q.In(q.Random({2, 3, 4})).Const(RealScalar(0.0625)).With("output_dtype", Int(kI8)).Add();
  d.In(d.Random(kU8, {2, 3, 4}, 0, 40)).Const(RealScalar(0.0625)).Const(Zero(kU8, {3}));
  d.With("output_dtype", Int(kF16)).Add();
  // One scale for each two elements along the axis.
  const auto blocks = [](deputy_dtype dtype) {
    Tensor tensor(dtype, {2, 2, 3});
    for (int64_t i = 0; i < tensor.count(); ++i)
      tensor.Put(i, reference::IsReal(dtype) ? 0.0625 * static_cast<double>(i + 1) : static_cast<double>(i));
    return tensor;
  };
  q.In(q.Random({2, 4, 3})).Const(blocks(kF32)).Const(blocks(kU8));
  q.With("block_size", Int(2)).Add();
  d.In(d.Random(kU8, {2, 4, 3}, 0, 40)).Const(blocks(kF32)).Const(blocks(kU8));
  d.With("block_size", Int(2)).Add();
  CaseBuilder dynamic(cases, "DynamicQuantizeLinear", seed);
  dynamic.In(dynamic.Random({2, 3, 4})).Outputs(3).Add();
  dynamic.In(dynamic.Random(kF32, {5}, 1, 3)).Outputs(3).Note("values=positive").Add();
}

}  // namespace deputy::conformance
