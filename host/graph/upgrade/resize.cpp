// Upsample, which became Resize, and Resize-10, whose coordinate modes were named later.
#include <algorithm>
#include <utility>
#include <vector>

#include "graph/upgrade/rewrite.hpp"

namespace deputy::host {
namespace {

Status SetScales(NodeRewrite& node, size_t input, std::span<const float> scales) {
  DEPUTY_ASSIGN_OR_RETURN(Tensor tensor,
                          Tensor::FromValues<float>(DType::kFloat32, {static_cast<int64_t>(scales.size())}, scales));
  node.SetConstant(input, "scales", std::move(tensor));
  return {};
}

}  // namespace

// Upsample-1 (height_scale, width_scale) to 7 (scales).
Status UpgradeUpsample1(NodeRewrite& node) {
  const Primitive before = node.primitive();
  const std::vector<float> scales = {1, 1, before.GetFloat("height_scale", 1), before.GetFloat("width_scale", 1)};
  const bool bilinear = before.GetString("mode", "nearest") == "bilinear";
  PrimitiveBuilder builder(before);
  builder.Remove("height_scale").Remove("width_scale").Set("scales", scales).SetVersion(7);
  if (bilinear) builder.Set("mode", std::string("linear"));
  node.SetPrimitive(builder);
  return {};
}

// Upsample-7 (scales) to 9, where they are an input.
Status UpgradeUpsample7(NodeRewrite& node) {
  const Primitive before = node.primitive();
  if (!before.Has("scales")) return Error(StatusCode::kModel, "attribute 'scales' is missing");
  DEPUTY_RETURN_IF_ERROR(SetScales(node, 1, before.GetFloats("scales")));
  node.SetPrimitive(PrimitiveBuilder(before).Remove("scales").SetVersion(9));
  return {};
}

// Upsample-9 was renamed to Resize-10.
Status UpgradeUpsample9(NodeRewrite& node) {
  node.SetPrimitive(
      PrimitiveBuilder("", "Resize", 10).Set("mode", std::string(node.primitive().GetString("mode", "nearest"))));
  return {};
}

// Resize-10 to 11 as of 13, where the region may be omitted. Its nearest neighbour is the lower one when growing and
// the upper one when shrinking: without known scales there is no name for that, and the node is not changed.
Status UpgradeResize(NodeRewrite& node) {
  const bool nearest = node.primitive().GetString("mode", "nearest") == "nearest";
  std::string rounding = "floor";
  if (nearest) {
    const Tensor* scales = node.constant(1);
    if (scales == nullptr || scales->dtype() != DType::kFloat32) return {};
    const std::span<const float> values = scales->values<float>();
    const bool grows = std::all_of(values.begin(), values.end(), [](float scale) { return scale >= 1; });
    const bool shrinks = std::all_of(values.begin(), values.end(), [](float scale) { return scale <= 1; });
    if (!grows && !shrinks) return {};
    if (!grows) rounding = "ceil";
  }
  const ValueId scales = node.input(1);
  node.SetInput(1, kNone);
  node.SetInput(2, scales);
  PrimitiveBuilder builder(node.primitive());
  builder.Set("coordinate_transformation_mode", std::string("asymmetric")).SetVersion(13);
  if (nearest) builder.Set("nearest_mode", rounding);
  node.SetPrimitive(builder);
  return {};
}

}  // namespace deputy::host
