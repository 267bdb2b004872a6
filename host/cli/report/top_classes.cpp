#include "cli/report/top_classes.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <system_error>
#include <utility>

#include "cli/report/shape_text.hpp"
#include "cli/terminal/quantity.hpp"
#include "cli/terminal/table.hpp"
#include "deputy/element.hpp"

namespace deputy::cli {
namespace {

constexpr uintmax_t kMostLabelBytes = uintmax_t{1} << 24;

struct Rows {
  int64_t rows = 0, classes = 0;  // 0: the output has none
};

Rows RowsOf(const Tensor& output) {
  if (!IsNumeric(output.dtype()) || output.element_count() == 0) return {};
  const Shape& shape = output.shape();
  if (shape.size() == 1) return {1, shape[0]};
  if (shape.empty()) return {};
  const auto wide = std::count_if(shape.begin() + 1, shape.end(), [](int64_t extent) { return extent > 1; });
  return wide == 1 ? Rows{shape[0], output.element_count() / shape[0]} : Rows{};
}

// exp(value) in proportion to the sum over all; the largest is subtracted first, so that none is infinite.
void ApplySoftmax(std::vector<double>& values) {
  const double largest = *std::max_element(values.begin(), values.end());
  double sum = 0;
  for (double& value : values) sum += value = std::exp(value - largest);
  for (double& value : values) value /= sum;
}

TopRow TopOf(const std::string& name, const Tensor& output, const Rows& rows, int64_t row, const TopOptions& options,
             const std::vector<std::string>& labels) {
  std::vector<double> values;
  for (int64_t i = 0; i < rows.classes; ++i) values.push_back(ElementAt(output, row * rows.classes + i));
  if (options.softmax) ApplySoftmax(values);
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const size_t count = std::min<size_t>(options.count, order.size());
  const auto before = [&](size_t a, size_t b) {
    const bool a_nan = std::isnan(values[a]), b_nan = std::isnan(values[b]);
    if (a_nan != b_nan) return b_nan;
    if (!a_nan && values[a] != values[b]) return values[a] > values[b];
    return a < b;
  };
  std::partial_sort(order.begin(), order.begin() + static_cast<ptrdiff_t>(count), order.end(), before);
  TopRow top{name, row, {}};
  for (size_t i = 0; i < count; ++i)
    top.classes.push_back(
        {static_cast<int64_t>(order[i]), values[order[i]], labels.empty() ? std::string() : labels[order[i]]});
  return top;
}

}  // namespace

void TopOptions::AddTo(CLI::App& syntax) {
  CLI::Option* const top = syntax.add_option("--top", count, "Show the N classes with the largest values of each row")
                               ->check(CLI::Range(1U, 1000000U))
                               ->type_name("N");
  syntax.add_option("--labels", labels, "Names of the classes for --top: a text file, one a line")
      ->needs(top)
      ->type_name("FILE");
  syntax.add_flag("--softmax", softmax, "Show --top's values after a softmax over the classes")->needs(top);
}

Result<std::vector<std::string>> ReadLabels(const std::string& path) {
  std::error_code error;
  const uintmax_t size = std::filesystem::file_size(path, error);  // an error for anything but a regular file
  if (error) return Status(StatusCode::kNotFound, "cannot be read: " + error.message()).At(path);
  if (size > kMostLabelBytes)
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("has {} bytes, at most {} are allowed for labels", size, kMostLabelBytes))
        .At(path);
  std::ifstream file(path, std::ios::binary);
  if (!file) return Status(StatusCode::kNotFound, "cannot be read").At(path);
  std::vector<std::string> labels;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    labels.push_back(std::move(line));
  }
  if (labels.empty()) return Status(StatusCode::kInvalidArgument, "has no labels").At(path);
  return labels;
}

Result<std::vector<TopRow>> FindTopClasses(const TopOptions& options, const std::vector<std::string>& labels,
                                           const std::vector<TensorInfo>& infos, const std::vector<Tensor>& outputs) {
  std::vector<TopRow> found;
  if (options.count == 0) return found;
  std::string others, types;
  for (size_t i = 0; i < outputs.size(); ++i) {
    types += fmt::format("{}'{}' {}", types.empty() ? "" : ", ", infos[i].name, TypeText(outputs[i]));
    const Rows rows = RowsOf(outputs[i]);
    if (rows.classes == 0) continue;
    if (!labels.empty() && static_cast<int64_t>(labels.size()) != rows.classes) {
      others += fmt::format("{}output '{}' has {} classes", others.empty() ? "" : ", ", infos[i].name, rows.classes);
      continue;
    }
    for (int64_t row = 0; row < rows.rows; ++row)
      found.push_back(TopOf(infos[i].name, outputs[i], rows, row, options, labels));
  }
  if (!found.empty()) return found;
  if (!others.empty())
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("{} has {}, {}", options.labels, Plural(labels.size(), "label"), others))
        .At("--labels");
  return Status(StatusCode::kInvalidArgument, "no output is a row of classes: " + types).At("--top");
}

void PrintTopClasses(const std::vector<TopRow>& rows, const Terminal& terminal) {
  Table table({{"output"},
               {"row", Align::kRight},
               {"rank", Align::kRight},
               {"class", Align::kRight},
               {"value", Align::kRight},
               {"label"}});
  const bool many = std::any_of(rows.begin(), rows.end(), [](const TopRow& row) { return row.row > 0; });
  for (const TopRow& row : rows)
    for (size_t i = 0; i < row.classes.size(); ++i) {
      const TopClass& found = row.classes[i];
      table.AddRow({row.output, many ? fmt::format("{}", row.row) : "", fmt::format("{}", i + 1),
                    fmt::format("{}", found.index), NumberText(found.value), found.label});
    }
  Print("{}", table.Text(terminal, "  "));
}

Json ToJson(const std::vector<TopRow>& rows) {
  Json json = Json::array();
  for (const TopRow& row : rows) {
    Json classes = Json::array();
    for (const TopClass& found : row.classes)
      classes.push_back({{"index", found.index},
                         {"value", std::isfinite(found.value) ? Json(found.value) : Json(nullptr)},
                         {"label", found.label.empty() ? Json(nullptr) : Json(found.label)}});
    json.push_back({{"output", row.output}, {"row", row.row}, {"classes", std::move(classes)}});
  }
  return json;
}

}  // namespace deputy::cli
