// Rules for operators that once trained unless told otherwise, and for the softmax family, which once flattened its
// input to two dimensions.
#include "graph/upgrade/rewrite.hpp"

namespace deputy::host {

// BatchNormalization-1 to -9 to 14, which trains only when told to. Deputy does not train: what asks for the statistics
// of training is refused, and is_test is taken as set.
Status UpgradeBatchNormalization(NodeRewrite& node) {
  if (node.version() >= 14) return {};
  const Primitive before = node.primitive();
  if (before.GetInt("spatial", 1) == 0)
    return Error(StatusCode::kNotSupported, "statistics for every element (spatial = 0) are gone since opset 9");
  if (!node.DropExtraOutputs())
    return Error(StatusCode::kNotSupported, "the statistics of training are used, but models are not trained here");
  node.SetPrimitive(PrimitiveBuilder(before).Remove("spatial").Remove("is_test").SetVersion(14));
  return {};
}

// Dropout-10 and older to 12. Without training nothing is dropped, so that the ratio says nothing.
Status UpgradeDropout(NodeRewrite& node) {
  if (node.version() >= 12) return {};
  // Before 10 the mask had the type of the data.
  if (node.version() < 10 && !node.DropExtraOutputs())
    return Error(StatusCode::kNotSupported, "the mask of a Dropout older than opset 10 is used");
  node.SetPrimitive(PrimitiveBuilder(node.primitive()).Remove("ratio").Remove("is_test").SetVersion(12));
  return {};
}

// Softmax-11 and its kin normalize all dimensions from `axis` on together, 13 one dimension: the same for the last.
// Others keep their version, which kernels read.
Status UpgradeSoftmax(NodeRewrite& node) {
  if (node.version() >= 13) return {};
  const int64_t axis = node.primitive().GetInt("axis", 1);
  const ValueType input = node.input_type(0);
  if (axis != -1 && !(input.ranked && axis == static_cast<int64_t>(input.dims.size()) - 1)) return {};
  node.SetPrimitive(PrimitiveBuilder(node.primitive()).Set("axis", int64_t{-1}).SetVersion(13));
  return {};
}

}  // namespace deputy::host
