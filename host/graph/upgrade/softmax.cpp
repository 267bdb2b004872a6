// Softmax, LogSoftmax and Hardmax before opset 13 flattened their input to two dimensions and normalized the second.
#include <algorithm>

#include "graph/upgrade/rewrite.hpp"

namespace deputy::host {
namespace {

// The only axis from `axis` on with more than one element, if there is only one.
std::optional<int64_t> OnlyAxis(const ValueType& input, int64_t axis) {
  const int64_t rank = static_cast<int64_t>(input.dims.size());
  if (!input.ranked) return std::nullopt;
  if (axis == rank - 1) return axis;
  std::optional<int64_t> only;
  for (int64_t i = axis; i < rank; ++i) {
    if (input.dims[static_cast<size_t>(i)] == 1) continue;
    if (only) return std::nullopt;
    only = i;
  }
  return only;
}

}  // namespace

Status UpgradeSoftmax(NodeRewrite& node) {
  const ValueType input = node.input_type(0);
  int64_t axis = node.primitive().GetInt("axis", 1);
  const PrimitiveBuilder before(node.primitive());
  if (input.ranked) {
    const int64_t given = axis, rank = static_cast<int64_t>(input.dims.size());
    if (axis < 0) axis += rank;
    if (axis < 0 || axis > rank) return Error(StatusCode::kModel, "axis {} is out of range for rank {}", given, rank);
  }
  const std::optional<int64_t> only = axis == -1 ? std::optional<int64_t>(-1) : OnlyAxis(input, axis);
  if (only) {
    const bool last = *only == static_cast<int64_t>(input.dims.size()) - 1;
    node.SetPrimitive(PrimitiveBuilder(before).Set("axis", last ? int64_t{-1} : *only).SetVersion(13));
    return {};
  }
  // Flatten, normalize the rows, and restore the shape.
  const ValueId source = node.input(0);
  node.SetInput(0, node.AddBefore("flat", PrimitiveBuilder("", "Flatten", 13).Set("axis", axis), {source}));
  const ValueId shape = node.AddBefore("shape", PrimitiveBuilder("", "Shape", 15), {source});
  node.AddAfter("reshaped", PrimitiveBuilder("", "Reshape", 14).Set("allowzero", int64_t{1}), {shape});
  node.SetPrimitive(PrimitiveBuilder(before).Set("axis", int64_t{-1}).SetVersion(13));
  return {};
}

}  // namespace deputy::host
