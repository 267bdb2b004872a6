// Rules for attributes that later definitions take as inputs.
#include <limits>
#include <utility>
#include <vector>

#include "graph/upgrade/rewrite.hpp"

namespace deputy::host {

// Clip-6 (min, max) to Clip-11. An omitted bound was the largest number of float32, which matters to infinities.
Status UpgradeClip(NodeRewrite& node) {
  const Primitive before = node.primitive();
  constexpr float kMost = std::numeric_limits<float>::max();
  const bool known = node.input_type(0).dtype != DType::kUndefined;
  if (known || before.Has("min")) DEPUTY_RETURN_IF_ERROR(node.SetScalar(1, "min", before.GetFloat("min", -kMost)));
  if (known || before.Has("max")) DEPUTY_RETURN_IF_ERROR(node.SetScalar(2, "max", before.GetFloat("max", kMost)));
  node.SetPrimitive(PrimitiveBuilder(before).Remove("min").Remove("max").SetVersion(11));
  return {};
}

// Pad-1 (paddings) to 2 (pads).
Status UpgradePad1(NodeRewrite& node) {
  const Primitive before = node.primitive();
  if (!before.Has("paddings")) return Error(StatusCode::kModel, "attribute 'paddings' is missing");
  const std::span<const int64_t> pads = before.GetInts("paddings");
  node.SetPrimitive(PrimitiveBuilder(before)
                        .Remove("paddings")
                        .Set("pads", std::vector<int64_t>(pads.begin(), pads.end()))
                        .SetVersion(2));
  return {};
}

// Pad-2 (pads, value) to Pad-11.
Status UpgradePad(NodeRewrite& node) {
  const Primitive before = node.primitive();
  if (!before.Has("pads")) return Error(StatusCode::kModel, "attribute 'pads' is missing");
  DEPUTY_RETURN_IF_ERROR(node.SetInts(1, "pads", before.GetInts("pads")));
  const float value = before.GetFloat("value", 0);
  if (value != 0) DEPUTY_RETURN_IF_ERROR(node.SetScalar(2, "value", value));
  node.SetPrimitive(PrimitiveBuilder(before).Remove("pads").Remove("value").SetVersion(11));
  return {};
}

// The reductions (axes): ReduceSum changed in 13, the others in 18.
Status UpgradeReduce(NodeRewrite& node) {
  const int32_t changed = node.kind() == OpKind::kReduceSum ? 13 : 18;
  const Primitive before = node.primitive();
  if (!before.Has("axes")) return {};
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
  if (!before.Has("shape")) return Error(StatusCode::kModel, "attribute 'shape' is missing");
  DEPUTY_RETURN_IF_ERROR(node.SetInts(1, "shape", before.GetInts("shape")));
  node.SetPrimitive(PrimitiveBuilder(before).Remove("shape").Remove("consumed_inputs").SetVersion(5));
  return {};
}

// Slice-1 (starts, ends, axes) to Slice-10.
Status UpgradeSlice(NodeRewrite& node) {
  const Primitive before = node.primitive();
  if (!before.Has("starts") || !before.Has("ends"))
    return Error(StatusCode::kModel, "attribute '{}' is missing", before.Has("starts") ? "ends" : "starts");
  DEPUTY_RETURN_IF_ERROR(node.SetInts(1, "starts", before.GetInts("starts")));
  DEPUTY_RETURN_IF_ERROR(node.SetInts(2, "ends", before.GetInts("ends")));
  if (before.Has("axes")) DEPUTY_RETURN_IF_ERROR(node.SetInts(3, "axes", before.GetInts("axes")));
  node.SetPrimitive(PrimitiveBuilder(before).Remove("starts").Remove("ends").Remove("axes").SetVersion(10));
  return {};
}

// Split-1, which may have its sizes as an input of the data's type, to 2, where they are an attribute again.
Status UpgradeSplit1(NodeRewrite& node) {
  const Primitive before = node.primitive();
  PrimitiveBuilder builder(before);
  builder.Set("axis", before.GetInt("axis", 0)).SetVersion(2);
  if (node.has_input(1)) {
    const Tensor* given = node.constant(1);
    if (given == nullptr || given->dtype() != DType::kFloat32)
      return Error(StatusCode::kNotSupported,
                   "Split version 1 with split sizes that are not constant float32 is not supported");
    std::vector<int64_t> sizes;
    for (const float size : given->values<float>()) {
      if (!(size >= 0 && size <= 0x1p31f))
        return Error(StatusCode::kModel, "split sizes must be between 0 and 2^31, got {}", size);
      sizes.push_back(static_cast<int64_t>(size));
    }
    builder.Set("split", std::move(sizes));
    node.SetInput(1, kNone);
  }
  node.SetPrimitive(builder);
  return {};
}

// Split-2 (split) to Split-13. Without sizes the form is the same.
Status UpgradeSplit(NodeRewrite& node) {
  const Primitive before = node.primitive();
  if (!before.Has("split")) return {};
  DEPUTY_RETURN_IF_ERROR(node.SetInts(1, "split", before.GetInts("split")));
  node.SetPrimitive(PrimitiveBuilder(before).Remove("split").SetVersion(13));
  return {};
}

// Squeeze-11 and Unsqueeze-11 (axes) to 13. A Squeeze without axes has the same form.
Status UpgradeSqueeze(NodeRewrite& node) {
  const Primitive before = node.primitive();
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
  const int64_t k = before.GetInt("k", -1);
  DEPUTY_RETURN_IF_ERROR(node.SetInts(1, "k", {&k, 1}));
  node.SetPrimitive(PrimitiveBuilder(before).Remove("k").SetVersion(10));
  return {};
}

}  // namespace deputy::host
