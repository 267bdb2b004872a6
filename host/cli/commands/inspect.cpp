// deputy inspect: the contents of a model file, also of one that no delegate supports.
#include "deputy/inspect.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "cli/command.hpp"
#include "cli/exit_code.hpp"
#include "cli/inputs/model_inputs.hpp"
#include "cli/report/json_report.hpp"
#include "cli/report/shape_text.hpp"
#include "cli/terminal/quantity.hpp"
#include "cli/terminal/table.hpp"
#include "cli/terminal/terminal.hpp"

namespace deputy::cli {
namespace {

struct InspectOptions {
  std::string model;
  std::vector<std::string> shapes;
  bool nodes = false, json = false;
};

// Nodes with one operator definition.
struct OperatorUse {
  std::string op_type, domain;
  int32_t since_version = 0;
  size_t nodes = 0, on_cpu = 0;
  uint64_t multiply_adds = 0;
  std::string why_not;  // of the first node without a CPU kernel
};

// The most frequent first, then by name.
std::vector<OperatorUse> CountOperators(const ModelContents& contents) {
  std::map<std::tuple<std::string, std::string, int32_t>, OperatorUse> uses;
  for (const InspectedNode& node : contents.nodes) {
    OperatorUse& use = uses[{node.op_type, node.domain, node.since_version}];
    if (use.nodes == 0) use = {node.op_type, node.domain, node.since_version, 0, 0, 0, {}};
    ++use.nodes;
    use.on_cpu += node.on_cpu ? 1 : 0;
    use.multiply_adds += node.multiply_adds;
    if (use.why_not.empty()) use.why_not = node.why_not;
  }
  std::vector<OperatorUse> sorted;
  for (auto& [key, use] : uses) sorted.push_back(std::move(use));
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const OperatorUse& a, const OperatorUse& b) { return a.nodes > b.nodes; });
  return sorted;
}

std::string FullOperator(const std::string& domain, const std::string& op_type) {
  return domain.empty() ? op_type : domain + "." + op_type;
}

Result<NamedShapes> ShapesOf(const std::vector<std::string>& arguments, const std::vector<TensorInfo>& inputs) {
  if (arguments.empty()) return NamedShapes();
  DEPUTY_ASSIGN_OR_RETURN(const KnownShapes known, ParseShapes(arguments, inputs));
  KnownShapes propagated = PropagateExtents(inputs, known);
  NamedShapes named;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].kind == ValueKind::kTensor && propagated[i])
      named.emplace_back(inputs[i].name, *std::move(propagated[i]));
  return named;
}

Json JsonOf(const std::vector<TensorInfo>& infos) {
  Json list = Json::array();
  for (const TensorInfo& info : infos)
    list.push_back({{"name", info.name},
                    {"kind", NameOf(info.kind)},
                    {"dtype", NameOf(info.dtype)},
                    {"shape", info.ranked ? Json(info.shape) : Json(nullptr)},
                    {"dims", info.ranked ? Json(info.dims) : Json(nullptr)}});
  return list;
}

Json JsonOf(const InspectOptions& options, const ModelContents& contents) {
  Json metadata = Json::array(), operators = Json::array(), nodes = Json::array();
  for (const auto& [key, value] : contents.metadata) metadata.push_back({{"key", key}, {"value", value}});
  for (const OperatorUse& use : CountOperators(contents))
    operators.push_back({{"op_type", use.op_type},
                         {"domain", use.domain},
                         {"since_version", use.since_version},
                         {"nodes", use.nodes},
                         {"on_cpu", use.on_cpu},
                         {"multiply_adds", use.multiply_adds},
                         {"why_not", use.why_not}});
  Json json = {{"model", options.model},
               {"format", contents.format},
               {"file_bytes", contents.file_bytes},
               {"metadata", std::move(metadata)},
               {"inputs", JsonOf(contents.inputs)},
               {"outputs", JsonOf(contents.outputs)},
               {"states", JsonOf(contents.states)},
               {"symbols", contents.symbols},
               {"node_count", contents.nodes.size()},
               {"regions", contents.regions},
               {"operators", std::move(operators)},
               {"constants", contents.constants},
               {"parameters", contents.parameters},
               {"constant_bytes", contents.constant_bytes},
               {"multiply_adds", contents.multiply_adds},
               {"problem", contents.problem}};
  if (!options.nodes) return json;
  for (const InspectedNode& node : contents.nodes)
    nodes.push_back({{"name", node.name},
                     {"op_type", node.op_type},
                     {"domain", node.domain},
                     {"since_version", node.since_version},
                     {"region", node.region},
                     {"inputs", node.inputs},
                     {"outputs", node.outputs},
                     {"types", node.types},
                     {"multiply_adds", node.multiply_adds},
                     {"on_cpu", node.on_cpu},
                     {"why_not", node.why_not},
                     {"source", node.source}});
  json["nodes"] = std::move(nodes);
  return json;
}

void PrintHead(const ModelContents& contents, const Terminal& terminal) {
  KeyTable head;
  head.Add("format", fmt::format("{}, {}", contents.format, BytesText(contents.file_bytes)));
  for (const auto& [key, value] : contents.metadata) head.Add(key, value);
  head.Add("nodes", fmt::format("{} in the file{}", contents.nodes.size(),
                                contents.regions == 0
                                    ? ""
                                    : fmt::format(", including those of {}", Plural(contents.regions, "region"))));
  head.Add("parameters", fmt::format("{} in {}, {}", CountText(contents.parameters),
                                     Plural(contents.constants, "constant"), BytesText(contents.constant_bytes)));
  if (!contents.symbols.empty()) head.Add("symbols", Joined(contents.symbols));
  Print("{}", head.Text(terminal, "  "));
  const auto list = [&](const char* title, const std::vector<TensorInfo>& infos) {
    Table table({{title}, {"type"}});
    for (const TensorInfo& info : infos) table.AddRow({info.name, TypeText(info)});
    if (!infos.empty()) Print("\n{}", table.Text(terminal, "  "));
  };
  list("input", contents.inputs);
  list("output", contents.outputs);
  list("state", contents.states);
}

void PrintOperators(const ModelContents& contents, const Terminal& terminal) {
  Table table({{"operator"},
               {"version", Align::kRight, Fit::kMiddle, 2},
               {"nodes", Align::kRight},
               {"multiply-adds", Align::kRight, Fit::kMiddle, 1},
               {"CPU"},
               {"reason", Align::kLeft, Fit::kWrap}});
  for (const OperatorUse& use : CountOperators(contents))
    table.AddRow({FullOperator(use.domain, use.op_type), std::to_string(use.since_version), CountText(use.nodes),
                  use.multiply_adds == 0 ? "" : CountText(use.multiply_adds),
                  use.on_cpu == use.nodes ? "yes"
                  : use.on_cpu == 0       ? terminal.Paint(Paint::kBad, "no")
                                          : fmt::format("{} of {}", use.on_cpu, use.nodes),
                  use.why_not});
  Print("\n{}", table.Text(terminal, "  "));
}

void PrintNodes(const ModelContents& contents, const Terminal& terminal) {
  Table table({{"node"},
               {"operator"},
               {"region", Align::kLeft, Fit::kMiddle, 2},
               {"outputs", Align::kLeft, Fit::kList, 1},
               {"multiply-adds", Align::kRight, Fit::kMiddle, 3},
               {"CPU"},
               {"exported at", Align::kLeft, Fit::kMiddle, 4}});
  for (const InspectedNode& node : contents.nodes) {
    std::vector<std::string> outputs;
    for (size_t i = 0; i < node.outputs.size(); ++i)
      if (!node.outputs[i].empty()) outputs.push_back(node.outputs[i] + " " + node.types[i]);
    table.AddRow({node.name, fmt::format("{}-{}", FullOperator(node.domain, node.op_type), node.since_version),
                  node.region, Joined(outputs), node.multiply_adds == 0 ? "" : CountText(node.multiply_adds),
                  node.on_cpu ? "yes" : "no", node.source});
  }
  Print("\n{}", table.Text(terminal, "  "));
}

int RunInspect(const InspectOptions& options) {
  Stage stage = Stage::kModel;
  const Result<ModelContents> contents = InspectModel(options.model, [&](const std::vector<TensorInfo>& inputs) {
    Result<NamedShapes> shapes = ShapesOf(options.shapes, inputs);
    if (!shapes.ok()) stage = Stage::kSetup;
    return shapes;
  });
  if (!contents.ok()) return Fail(stage, contents.status());
  if (options.json) {
    PrintJson(JsonOf(options, *contents));
    return kDone;
  }
  const Terminal terminal = TerminalOf(stdout);
  PrintHead(*contents, terminal);
  PrintOperators(*contents, terminal);
  if (contents->multiply_adds > 0) Print("\n  {} multiply-adds\n", CountText(contents->multiply_adds));
  if (!contents->problem.empty())
    Print("\n{}", Paragraph(terminal, "  ",
                            Show("{}: {}", terminal.Paint(Paint::kBad, "types are unknown"), contents->problem)));
  if (options.nodes) PrintNodes(*contents, terminal);
  return kDone;
}

}  // namespace

Command MakeInspectCommand(CLI::App& app) {
  auto options = std::make_shared<InspectOptions>();
  CLI::App* syntax = app.add_subcommand("inspect", "Show the contents of a model file, also of one that cannot be run");
  AddModel(*syntax, options->model);
  AddRepeated(*syntax, "--shape", options->shapes, "NAME=1x3x224x224", "Input shape, for types and multiply-adds");
  syntax->add_flag("--nodes", options->nodes, "List all nodes as well");
  AddJson(*syntax, options->json);
  SetExample(*syntax, "deputy inspect model.onnx --shape image=1x3x224x224");
  return {syntax, [options] { return RunInspect(*options); }};
}

}  // namespace deputy::cli
