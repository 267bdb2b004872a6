// Reductions over axes: all, some, or none of them.
#include "random/families.hpp"

namespace deputy::conformance {
namespace {

// A mean of no elements does not exist, nor, in integers, the logarithm of their sum.
bool NeedsElements(const std::string& op_type, deputy_dtype dtype) {
  return op_type == "ReduceMean" || (op_type.find("Log") != std::string::npos && !reference::IsReal(dtype));
}

Tensor Positive(Draft& d, deputy_dtype dtype, const Dims& dims) {
  Tensor tensor(dtype, dims);
  for (int64_t i = 0; i < tensor.count(); ++i) tensor.Put(i, d.Between(1, 9));
  return tensor;
}

void WriteReduction(Draft& d) {
  const deputy_dtype dtype = d.Type();
  const Dims dims = NeedsElements(d.op_type(), dtype) ? d.FullShape(0, 8) : d.Shape(0, 8);
  const auto rank = dims.size();
  const bool logarithm = d.op_type() == "ReduceLogSum", product = d.op_type() == "ReduceProd";
  if (logarithm && reference::IsReal(dtype))
    d.In(d.Values(dtype, dims, 0.25, 2));
  else if (logarithm)
    d.In(Positive(d, dtype, dims));
  else if (product)
    d.In(reference::IsReal(dtype) ? d.Values(dtype, dims, 0.75, 1.25) : d.Ties(dtype, dims, -1, 1));
  else if (d.op_type() == "ReduceMax" || d.op_type() == "ReduceMin")
    d.In(d.Any(dtype, dims));
  else
    d.In(d.Values(dtype, dims));
  d.Maybe("keepdims", Int(d.Between(0, 1)));
  if (d.Half()) d.Maybe("noop_with_empty_axes", Int(d.Between(0, 1)));
  const auto count = static_cast<size_t>(d.Between(0, static_cast<int64_t>(rank)));
  const std::vector<int64_t> axes = d.Axes(rank, count);
  if (d.Has("axes")) {
    if (count > 0) d.Set("axes", Ints(axes));
  } else if (count > 0 || d.Half()) {
    d.In(Whole(axes));
  }
}

void WriteArgument(Draft& d) {
  const deputy_dtype dtype = d.Type();
  const Dims dims = d.FullShape(1, 8);
  d.In(d.Half() ? d.Ties(dtype, dims) : d.Values(dtype, dims));
  d.Maybe("axis", Int(d.Axis(dims.size()))).Maybe("keepdims", Int(d.Between(0, 1)));
  d.Maybe("select_last_index", Int(d.Between(0, 1)));
}

// Or CumProd.
void WriteCumSum(Draft& d) {
  const Dims dims = d.Shape(1, 8);
  const int64_t axis = d.Axis(dims.size(), true);
  d.In(d.Values(d.Type(), dims)).In(RealScalar(static_cast<double>(axis), d.IndexType()));
  d.Maybe("exclusive", Int(d.Between(0, 1))).Maybe("reverse", Int(d.Between(0, 1)));
}

}  // namespace

DraftRows ReductionDrafts() {
  DraftRows rows = {
      {"ArgMax", WriteArgument}, {"ArgMin", WriteArgument}, {"CumProd", WriteCumSum}, {"CumSum", WriteCumSum}};
  for (const char* op_type : {"ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean",
                              "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare"})
    rows.push_back({op_type, WriteReduction});
  return rows;
}

}  // namespace deputy::conformance
