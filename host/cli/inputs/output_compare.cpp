#include "cli/inputs/output_compare.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "cli/inputs/element.hpp"
#include "cli/terminal/quantity.hpp"

namespace deputy::cli {

namespace {

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

std::string WrongNodesText(const PartitionVerification& partition, const std::vector<std::string>& group) {
  std::string text;
  for (const std::string& name : group) {
    const auto at = std::find(partition.nodes.begin(), partition.nodes.end(), name) - partition.nodes.begin();
    text += fmt::format("{}{} ({})", text.empty() ? "" : " with ", name, partition.op_types[static_cast<size_t>(at)]);
  }
  return text;
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
  return comparison.ok ? std::string() : comparison.description;
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
