#include "cli/output_compare.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "cli/element.hpp"
#include "cli/quantity.hpp"

namespace deputy::cli {

namespace {

// Whether the operator rounds to quantization steps; com.microsoft has more such operators than ONNX.
bool Rounds(std::string_view domain, std::string_view op_type) {
  static constexpr std::array<std::string_view, 5> kRounding = {
      "QuantizeLinear", "DynamicQuantizeLinear", "DynamicQuantizeLSTM", "DynamicQuantizeMatMul", "QGemm"};
  return (domain.empty() || domain == "com.microsoft") &&
         (op_type.substr(0, 7) == "QLinear" ||
          std::find(kRounding.begin(), kRounding.end(), op_type) != kRounding.end());
}

void AddTolerance(CLI::App& syntax, const char* flag, std::optional<double>& value, const char* form,
                  const char* help) {
  syntax.add_option(flag, value, help)->check(CLI::NonNegativeNumber.description(""))->type_name(form);
}

}  // namespace

void ToleranceFlags::AddTo(CLI::App& syntax) {
  AddTolerance(syntax, "--rtol", rtol, "R", "Relative tolerance [default: 1e-3, for 16-bit floats 1e-2]");
  AddTolerance(syntax, "--atol", atol, "A", "Absolute tolerance [default: 1e-7]");
  AddTolerance(
      syntax, "--atol-scale", atol_scale, "S",
      "Tolerance relative to the output's largest magnitude [default: floats 1e-6, in networks 1e-5, 16-bit 1e-3]");
  AddTolerance(syntax, "--outliers", outliers, "SHARE",
               "Share of elements that may differ by one quantization step [default: 0, for quantized models 1e-2]");
}

ModelTraits TraitsOf(const PlacementReport& placement) {
  static constexpr size_t kFewNodes = 10;
  ModelTraits model;
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

Tolerance ToleranceFor(const ToleranceFlags& given, DType output, const ModelTraits& model) {
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

std::string OutputComparer::Compare(const std::string& name, const Tensor& got, const Tensor& want) {
  Tensor compared = got;
  if (got.dtype() != want.dtype() && IsFloating(got.dtype()) && IsFloating(want.dtype())) {
    if (std::optional<Tensor> converted = ConvertTensor(got, want.dtype())) compared = *std::move(converted);
    Note(fmt::format("'{}' compared as {}", name, NameOf(want.dtype())));
  }
  const Comparison comparison = CompareTensors(compared, want, ToleranceFor(given_, got.dtype(), model_));
  max_difference_ = std::max(max_difference_, comparison.max_difference);
  outliers_ += comparison.outliers;
  elements_ += comparison.elements;
  return comparison.ok ? std::string() : DescribeMismatch(comparison);
}

void OutputComparer::Note(std::string note) {
  if (std::find(notes_.begin(), notes_.end(), note) == notes_.end()) notes_.push_back(std::move(note));
}

std::string OutputComparer::Summary() const {
  std::string summary = fmt::format("max |d| {}", NumberText(max_difference_));
  if (outliers_ > 0) summary += fmt::format(", {} of {} elements off by one quantization step", outliers_, elements_);
  for (const std::string& note : notes_) summary += ", " + note;
  return summary;
}

}  // namespace deputy::cli
