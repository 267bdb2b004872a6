// Reductions: axes from both ends, kept or not, given or not.
#include "cases/families.hpp"
#include "definitions.hpp"

namespace deputy::conformance {

void AddReductionCases(std::vector<Case>& cases, uint64_t seed) {
  for (const char* op_type : {"ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean",
                              "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare"}) {
    CaseBuilder b(cases, op_type, seed);
    const bool positive = b.op_type() == "ReduceLogSum";
    // A mean of whole numbers would be rounded, which libraries do differently.
    const auto x = [&](deputy_dtype t, const Dims& dims) {
      Tensor tensor = b.Random(t, dims, positive ? 0.25 : -2, 2);
      if (!reference::IsReal(t) && b.op_type() != "ReduceMax" && b.op_type() != "ReduceMin")
        for (int64_t& value : tensor.whole) value = 1;
      return tensor;
    };
    for (const deputy_dtype dtype : TypesOf(op_type)) {
      const bool exact_in_whole = b.op_type() == "ReduceMax" || b.op_type() == "ReduceMin" ||
                                  b.op_type() == "ReduceSum" || b.op_type() == "ReduceProd" ||
                                  b.op_type() == "ReduceL1" || b.op_type() == "ReduceSumSquare" ||
                                  b.op_type() == "ReduceMean";
      if (reference::IsReal(dtype) || exact_in_whole) b.In(x(dtype, {2, 3, 4})).Const(Whole({1})).Add();
      if (reference::IsReal(dtype) || exact_in_whole || b.op_type() == "ReduceLogSumExp") continue;
      // The root of 1 + 4 + 4 and the logarithm of 1 are whole numbers.
      Tensor whole(dtype, {2, 3, 4});
      for (int64_t i = 0; i < whole.count(); ++i) {
        const int64_t first = i / 4 % 3 == 0 ? 1 : 0;
        whole.Put(i, b.op_type() == "ReduceL2" ? 2 - first : first);
      }
      b.In(whole).Const(Whole({1})).Add();
    }
    for (const Dims& axes : std::vector<Dims>{{0}, {2}, {-1}, {0, 2}, {1, 2}, {0, 1, 2}})
      b.In(x(kF32, {2, 3, 4})).Const(Whole(axes)).Note("axes=" + TextOf(axes)).Add();
    b.In(x(kF32, {2, 3, 4})).Note("axes=none").Add();
    b.In(x(kF32, {})).Note("axes=none").Note(ShapeNote({})).Add();
    b.In(x(kF32, {2, 3, 4})).Const(Whole({1})).With("keepdims", Int(0)).Add();
    b.In(x(kF32, {2, 3, 4})).Note("axes=none").With("keepdims", Int(0)).Add();
    b.In(x(kF32, {2, 3, 4})).With("noop_with_empty_axes", Int(1)).Add();
    b.In(x(kF32, {2, 3, 4})).In(Whole({1})).Note("axes=variable").Add();
    for (const Dims& shape : std::vector<Dims>{{7}, {1, 1}, {33, 17}, {2, 3, 4, 5}})
      b.In(x(kF32, shape)).Const(Whole({0})).Note(ShapeNote(shape)).Add();
  }
}

}  // namespace deputy::conformance
