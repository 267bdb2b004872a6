// Rules for operators that once trained by default. Deputy does not train: a node that requests the results of training
// is refused, and is_test is treated as set.
#include "graph/upgrade/rewrite.hpp"

namespace deputy::host {

// BatchNormalization-6 and Dropout-6 to 7.
Status DropIsTest(NodeRewrite& node) {
  node.SetPrimitive(PrimitiveBuilder(node.primitive()).Remove("is_test").SetVersion(7));
  return {};
}

// BatchNormalization-7 (spatial) to 9, which has no statistics for every element: such a node is not changed, and the
// kernel reads the attribute.
Status UpgradeBatchNormalization7(NodeRewrite& node) {
  if (node.primitive().GetInt("spatial", 1) == 0) return {};
  node.SetPrimitive(PrimitiveBuilder(node.primitive()).Remove("spatial").SetVersion(9));
  return {};
}

// BatchNormalization-9, which trains when it has more than one output, to 14, which has an attribute for it.
Status UpgradeBatchNormalization9(NodeRewrite& node) {
  if (!node.DropExtraOutputs())
    return Error(StatusCode::kNotSupported, "training mode is not supported: the batch statistics are used as outputs");
  if (node.primitive().GetInt("spatial", 1) != 0) node.SetVersion(14);
  return {};
}

// Dropout-7 to 10, whose mask is no longer of the type of the data.
Status UpgradeDropout7(NodeRewrite& node) {
  if (!node.DropExtraOutputs()) node.AddAfter("mask", PrimitiveBuilder("", "CastLike", 15), {node.input(0)}, 1);
  node.SetVersion(10);
  return {};
}

// Dropout-10 to 12. Without training nothing is dropped, so that the ratio has no effect.
Status UpgradeDropout10(NodeRewrite& node) {
  node.SetPrimitive(PrimitiveBuilder(node.primitive()).Remove("ratio").SetVersion(12));
  return {};
}

}  // namespace deputy::host
