// Rules for attributes that later definitions take as inputs.
#include <utility>
#include <vector>

#include "graph/upgrade/rewrite.hpp"

namespace deputy::host {

// Clip-6 (min, max) to Clip-11.
Status UpgradeClip(NodeRewrite& node) {
  if (node.version() >= 11) return {};
  const Primitive before = node.primitive();
  if (before.Has("min")) DEPUTY_RETURN_IF_ERROR(node.SetScalar(1, "min", before.GetFloat("min", 0)));
  if (before.Has("max")) DEPUTY_RETURN_IF_ERROR(node.SetScalar(2, "max", before.GetFloat("max", 0)));
  node.SetPrimitive(PrimitiveBuilder(before).Remove("min").Remove("max").SetVersion(11));
  return {};
}

// Pad-2 (pads, value) and Pad-1 (paddings) to Pad-11.
Status UpgradePad(NodeRewrite& node) {
  if (node.version() >= 11) return {};
  const Primitive before = node.primitive();
  const std::string_view name = before.Has("pads") ? "pads" : "paddings";
  if (!before.Has(name)) return Error(StatusCode::kModel, "attribute 'pads' is missing");
  DEPUTY_RETURN_IF_ERROR(node.SetInts(1, "pads", before.GetInts(name)));
  const float value = before.GetFloat("value", 0);
  if (value != 0) DEPUTY_RETURN_IF_ERROR(node.SetScalar(2, "value", value));
  node.SetPrimitive(PrimitiveBuilder(before).Remove("pads").Remove("paddings").Remove("value").SetVersion(11));
  return {};
}

// The reductions (axes): ReduceSum changed in 13, the others in 18.
Status UpgradeReduce(NodeRewrite& node) {
  const int32_t changed = node.kind() == OpKind::kReduceSum ? 13 : 18;
  const Primitive before = node.primitive();
  if (node.version() >= changed || !before.Has("axes")) return {};
  if (before.GetInts("axes").empty()) {  // the same as none: all axes
    node.SetPrimitive(PrimitiveBuilder(before).Remove("axes"));
    return {};
  }
  DEPUTY_RETURN_IF_ERROR(node.SetInts(1, "axes", before.GetInts("axes")));
  node.SetPrimitive(PrimitiveBuilder(before).Remove("axes").SetVersion(changed));
  return {};
}

// Reshape-1 (shape) to Reshape-5.
Status UpgradeReshape(NodeRewrite& node) {
  const Primitive before = node.primitive();
  if (node.version() >= 5 || node.has_input(1)) return {};
  DEPUTY_RETURN_IF_ERROR(node.SetInts(1, "shape", before.GetInts("shape")));
  node.SetPrimitive(PrimitiveBuilder(before).Remove("shape").SetVersion(5));
  return {};
}

// Slice-1 (starts, ends, axes) to Slice-10.
Status UpgradeSlice(NodeRewrite& node) {
  if (node.version() >= 10) return {};
  const Primitive before = node.primitive();
  if (!before.Has("starts") || !before.Has("ends"))
    return Error(StatusCode::kModel, "attribute '{}' is missing", before.Has("starts") ? "ends" : "starts");
  DEPUTY_RETURN_IF_ERROR(node.SetInts(1, "starts", before.GetInts("starts")));
  DEPUTY_RETURN_IF_ERROR(node.SetInts(2, "ends", before.GetInts("ends")));
  if (before.Has("axes")) DEPUTY_RETURN_IF_ERROR(node.SetInts(3, "axes", before.GetInts("axes")));
  node.SetPrimitive(PrimitiveBuilder(before).Remove("starts").Remove("ends").Remove("axes").SetVersion(10));
  return {};
}

// Split-2 (split) to Split-13. Without sizes the form is the same.
Status UpgradeSplit(NodeRewrite& node) {
  const Primitive before = node.primitive();
  if (node.version() >= 13 || !before.Has("split")) return {};
  if (!node.has_input(1)) DEPUTY_RETURN_IF_ERROR(node.SetInts(1, "split", before.GetInts("split")));
  node.SetPrimitive(PrimitiveBuilder(before).Remove("split").SetVersion(13));
  return {};
}

// Squeeze-11 and Unsqueeze-11 (axes) to 13. A Squeeze without axes has the same form.
Status UpgradeSqueeze(NodeRewrite& node) {
  const Primitive before = node.primitive();
  if (node.version() >= 13) return {};
  if (!before.Has("axes")) {
    if (node.kind() == OpKind::kSqueeze) return {};
    return Error(StatusCode::kModel, "attribute 'axes' is missing");
  }
  DEPUTY_RETURN_IF_ERROR(node.SetInts(1, "axes", before.GetInts("axes")));
  node.SetPrimitive(PrimitiveBuilder(before).Remove("axes").SetVersion(13));
  return {};
}

// TopK-1 (k) to TopK-10.
Status UpgradeTopK(NodeRewrite& node) {
  const Primitive before = node.primitive();
  if (node.version() >= 10) return {};
  const int64_t k = before.GetInt("k", -1);
  DEPUTY_RETURN_IF_ERROR(node.SetInts(1, "k", {&k, 1}));
  node.SetPrimitive(PrimitiveBuilder(before).Remove("k").SetVersion(10));
  return {};
}

// Upsample-7 (scales) and Upsample-1 (height_scale, width_scale) to Upsample-9.
Status UpgradeUpsample(NodeRewrite& node) {
  const Primitive before = node.primitive();
  if (node.version() >= 9) return {};
  std::vector<float> scales(before.GetFloats("scales").begin(), before.GetFloats("scales").end());
  if (node.version() < 7) scales = {1, 1, before.GetFloat("height_scale", 1), before.GetFloat("width_scale", 1)};
  DEPUTY_ASSIGN_OR_RETURN(Tensor tensor,
                          Tensor::FromValues<float>(DType::kFloat32, {static_cast<int64_t>(scales.size())}, scales));
  node.SetConstant(1, "scales", std::move(tensor));
  node.SetPrimitive(
      PrimitiveBuilder(before).Remove("scales").Remove("height_scale").Remove("width_scale").SetVersion(9));
  return {};
}

}  // namespace deputy::host
