// Rules for definitions before opset 7: in-place hints, and broadcasting that had to be asked for.
#include <algorithm>

#include "graph/upgrade/rewrite.hpp"

namespace deputy::host {

// A hint about memory that no runtime may rely on; opset 6 dropped it everywhere.
Status DropConsumedInputs(NodeRewrite& node) {
  const OperatorInfo* info = InfoOf(node.kind());
  if (info == nullptr || !node.primitive().Has("consumed_inputs")) return {};
  for (const OperatorAttribute& attribute : info->attributes) {
    if (attribute.name != "consumed_inputs" || node.version() >= attribute.until_version) continue;
    // Reshape's next definition has another form; its own rule sets the version.
    const int32_t version = node.kind() == OpKind::kReshape ? node.version() : attribute.until_version;
    node.SetPrimitive(PrimitiveBuilder(node.primitive()).Remove("consumed_inputs").SetVersion(version));
    return {};
  }
  return {};
}

// Add-6 and its kin (broadcast, axis) to 7. Aligned at the end, the old way of broadcasting is a case of the new.
Status UpgradeLegacyBroadcast(NodeRewrite& node) {
  const Primitive before = node.primitive();
  if (node.version() >= 7) return {};
  if (before.GetInt("broadcast", 0) != 0 && before.Has("axis")) {
    const ValueType a = node.input_type(0), b = node.input_type(1);
    const int64_t axis = before.GetInt("axis", 0);
    const bool at_end =
        a.ranked && b.ranked && axis + static_cast<int64_t>(b.dims.size()) == static_cast<int64_t>(a.dims.size());
    if (axis != -1 && !at_end)
      return Error(StatusCode::kNotSupported, "broadcasting from axis {} on is gone since opset 7", axis);
  }
  node.SetPrimitive(PrimitiveBuilder(before).Remove("broadcast").Remove("axis").SetVersion(7));
  return {};
}

// Gemm-6 (broadcast) to 7, which always broadcasts C.
Status UpgradeGemm(NodeRewrite& node) {
  if (node.version() >= 7) return {};
  node.SetPrimitive(PrimitiveBuilder(node.primitive()).Remove("broadcast").SetVersion(7));
  return {};
}

// PRelu-6, whose slope is one number or one per channel, to 7, whose slope is broadcast.
Status UpgradePRelu(NodeRewrite& node) {
  if (node.version() >= 7) return {};
  const ValueType input = node.input_type(0), slope = node.input_type(1);
  const bool one = slope.is_static() && ElementCount(slope.dims) == 1;
  const bool same = input.ranked && input.dims.size() <= 2;  // the channels are last anyway
  if (!one && !same) {
    const Tensor* constant = node.constant(1);
    if (constant == nullptr || constant->shape().size() != 1 || !input.ranked)
      return Error(StatusCode::kNotSupported, "a slope per channel that is not constant is gone since opset 7");
    Shape shape = constant->shape();
    shape.resize(input.dims.size() - 1, 1);
    DEPUTY_ASSIGN_OR_RETURN(Tensor reshaped, Tensor::Wrap(constant->dtype(), shape, const_cast<void*>(constant->data()),
                                                          constant->byte_size(), constant->owner()));
    node.SetConstant(1, "slope", std::move(reshaped));
  }
  node.SetPrimitive(PrimitiveBuilder(node.primitive()).SetVersion(7));
  return {};
}

Status UpgradeTile(NodeRewrite& node) {
  if (node.version() >= 6) return {};
  return Error(StatusCode::kNotSupported, "Tile with inputs 'tiles' and 'axis' is gone since opset 6");
}

}  // namespace deputy::host
