#include "cli/case_tolerance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "cli/element.hpp"

namespace deputy::cli {

namespace {

// Whether the operator rounds to steps of a scale; com.microsoft has more of them than ONNX.
bool Rounds(std::string_view domain, std::string_view op_type) {
  static constexpr std::array<std::string_view, 5> kRounding = {
      "QuantizeLinear", "DynamicQuantizeLinear", "DynamicQuantizeLSTM", "DynamicQuantizeMatMul", "QGemm"};
  return (domain.empty() || domain == "com.microsoft") &&
         (op_type.substr(0, 7) == "QLinear" ||
          std::find(kRounding.begin(), kRounding.end(), op_type) != kRounding.end());
}

}  // namespace

CaseModel CaseModelOf(const PlacementReport& placement) {
  static constexpr size_t kFewNodes = 10;
  CaseModel model;
  model.network = placement.nodes.size() > kFewNodes;
  model.quantized = std::any_of(placement.nodes.begin(), placement.nodes.end(),
                                [](const NodeReport& node) { return Rounds(node.domain, node.op_type); });
  static constexpr std::array<std::string_view, 6> kDrawing = {
      "Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"};
  for (const NodeReport& node : placement.nodes)
    if (node.domain.empty() && std::find(kDrawing.begin(), kDrawing.end(), node.op_type) != kDrawing.end())
      model.drawing = fmt::format("{} ({})", node.name, node.op_type);
  return model;
}

Tolerance ToleranceFor(const CaseTolerance& given, DType output, const CaseModel& model) {
  Tolerance tolerance;
  if (IsFloating(output)) tolerance.atol_scale = model.network ? 1e-5 : 1e-6;
  if (IsFloating(output) && model.network) tolerance.least_magnitude = 0.01;
  if (output == DType::kFloat16 || output == DType::kBFloat16) {
    tolerance.rtol = 1e-2;
    tolerance.atol_scale = 1e-3;
  }
  if (model.quantized) {
    tolerance.outliers = 1e-2;
    if (IsFloating(output)) tolerance.step_scale = 1.0 / 16;
    if (output == DType::kInt8 || output == DType::kUint8) tolerance.step = 1;
  }
  tolerance.rtol = given.rtol.value_or(tolerance.rtol);
  tolerance.atol = given.atol.value_or(tolerance.atol);
  tolerance.atol_scale = given.atol_scale.value_or(tolerance.atol_scale);
  tolerance.outliers = given.outliers.value_or(tolerance.outliers);
  return tolerance;
}

}  // namespace deputy::cli
