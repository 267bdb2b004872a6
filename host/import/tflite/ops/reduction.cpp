// Reductions along axes.
#include <algorithm>

#include "import/tflite/operators.hpp"

namespace deputy::host::tflite_import {

Status ImportReduction(const Operation& op, OpKind kind) {
  DEPUTY_ASSIGN_OR_RETURN(const auto* options, op.Options<fb::ReducerOptions>());
  DEPUTY_ASSIGN_OR_RETURN(const bool alike, op.Alike(op.input(0), op.output()));
  const bool stored = alike && (kind == OpKind::kReduceMax || kind == OpKind::kReduceMin);
  DEPUTY_ASSIGN_OR_RETURN(const size_t rank, op.tensors.Rank(op.input(0)));
  DEPUTY_ASSIGN_OR_RETURN(const std::vector<int64_t> entries, op.tensors.Ints(op.input(1), "axis"));
  std::vector<size_t> axes;
  for (const int64_t entry : entries) {
    DEPUTY_ASSIGN_OR_RETURN(const size_t axis, op.Axis(entry, rank));
    if (std::find(axes.begin(), axes.end(), axis) == axes.end()) axes.push_back(axis);
  }
  Layout layout = Layout::kFile;
  if (options->keep_dims()) {
    DEPUTY_ASSIGN_OR_RETURN(layout, op.CommonLayout({op.inputs().data(), 1}));
  } else {
    DEPUTY_ASSIGN_OR_RETURN(layout, op.LayoutWithout(op.input(0), axes));
  }
  DEPUTY_ASSIGN_OR_RETURN(const ValueId id, op.Operand(0, stored, layout));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId list, op.emit.Ints(AxesIn(layout, axes)));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId made, op.emit.Emit(kind, {id, list},
                                                           {{"keepdims", int64_t{options->keep_dims()}},
                                                            {"noop_with_empty_axes", int64_t{1}}}));
  return op.Set(made, stored, options->keep_dims() ? layout : Layout::kFile);
}

Status ImportArgExtremum(const Operation& op, OpKind kind) {
  DEPUTY_ASSIGN_OR_RETURN(const TensorInfo* info, op.tensors.Info(op.output()));
  DEPUTY_ASSIGN_OR_RETURN(const size_t rank, op.tensors.Rank(op.input(0)));
  DEPUTY_ASSIGN_OR_RETURN(const int64_t entry, op.tensors.Int(op.input(1), "axis"));
  DEPUTY_ASSIGN_OR_RETURN(const size_t axis, op.Axis(entry, rank));
  DEPUTY_ASSIGN_OR_RETURN(const Layout layout, op.LayoutWithout(op.input(0), {&axis, 1}));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId id, op.Operand(0, true, layout));
  DEPUTY_ASSIGN_OR_RETURN(ValueId made,
                          op.emit.Emit(kind, {id}, {{"axis", AxisIn(layout, axis)}, {"keepdims", int64_t{0}}}));
  DEPUTY_ASSIGN_OR_RETURN(made, op.emit.Cast(made, info->dtype));
  return op.Set(made, true);
}

Status Cumsum(const Operation& op) {
  DEPUTY_ASSIGN_OR_RETURN(const auto* options, op.Options<fb::CumsumOptions>());
  DEPUTY_ASSIGN_OR_RETURN(const int64_t axis, op.tensors.Int(op.input(1), "axis"));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId id, op.Operand(0, false));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId along, op.emit.Int(axis));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId made, op.emit.Emit(OpKind::kCumSum, {id, along},
                                                           {{"exclusive", int64_t{options->exclusive()}},
                                                            {"reverse", int64_t{options->reverse()}}}));
  return op.Set(made, false);
}

}  // namespace deputy::host::tflite_import
