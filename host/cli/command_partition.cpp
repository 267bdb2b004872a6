// deputy partition: the placement of a model's nodes on delegates, with the reasons.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.hpp"
#include "cli/exit_code.hpp"
#include "cli/json_report.hpp"
#include "cli/model_inputs.hpp"
#include "cli/placement_text.hpp"
#include "cli/quantity.hpp"
#include "cli/shape_text.hpp"
#include "cli/table.hpp"
#include "cli/terminal.hpp"
#include "deputy/model.hpp"
#include "deputy/printable.hpp"

namespace deputy::cli {
namespace {

// The type of an input, with the extents of the placement.
std::string TypeOfInput(const TensorInfo& info, const Shape& shape) {
  if (info.kind != ValueKind::kTensor) return TypeText(info);
  return fmt::format("{} {}", NameOf(info.dtype), ShapeText(shape));
}

struct PartitionOptions {
  std::string model, node;
  ContextOptions context;
  std::vector<std::string> shapes;
  bool nodes = false, per_operator = false, json = false;
  size_t top = 0;
};

Result<CompletedShapes> ShapesOf(const std::vector<TensorInfo>& inputs, const std::vector<std::string>& arguments) {
  DEPUTY_ASSIGN_OR_RETURN(const KnownShapes known, ParseShapes(arguments, inputs));
  return CompleteShapes(inputs, known);
}

int PrintNode(const PlacementReport& report, const PartitionOptions& options, const Terminal& terminal) {
  Json found = Json::array();
  Shown text;
  std::vector<std::string> names;
  for (const NodeReport& node : report.nodes) {
    names.push_back(node.name);
    if (node.name != options.node) continue;
    text += NodeText(report, node, terminal);
    found.push_back(ToJson(node));
  }
  if (found.empty())
    return FailUsage(fmt::format("--node: the model has no node '{}'{}; --nodes lists all", options.node,
                                 DidYouMean(options.node, names)));
  if (options.json) {
    PrintJson({{"model", options.model}, {"nodes", std::move(found)}});
  } else {
    Print("{}", text);
  }
  return kDone;
}

int RunPartition(const PartitionOptions& options) {
  int exit_status = kDone;
  std::optional<Context> context = options.context.Open(exit_status);
  if (!context) return exit_status;
  Model model;
  const Status built = model.Build(options.model, *context);
  if (!built.ok()) return Fail(Stage::kModel, built);
  Result<CompletedShapes> completed = ShapesOf(model.inputs(), options.shapes);
  if (!completed.ok()) return Fail(Stage::kSetup, std::move(completed).status().At(options.model));
  PrintAssumed(completed->assumed);
  const std::vector<Shape>& shapes = completed->shapes;
  const Result<PlacementReport> report = model.Placement(shapes);
  if (!report.ok()) return Fail(Stage::kModel, WithAssumed(report.status(), completed->assumed));

  const Terminal terminal = TerminalOf(stdout);
  if (!options.node.empty()) return PrintNode(*report, options, terminal);
  if (options.json) {
    Json json = {{"model", options.model}};
    json.update(ToJson(*report));
    PrintJson(json);
    return kDone;
  }
  Print("{}: {}, {} multiply-adds\n", terminal.Paint(Paint::kBold, options.model), Plural(report->nodes.size(), "node"),
        CountText(report->multiply_adds));
  for (size_t i = 0; i < shapes.size(); ++i)
    Print("{}", Paragraph(terminal, "  ",
                          Show("input {} {}", model.inputs()[i].name, TypeOfInput(model.inputs()[i], shapes[i]))));
  Print("\n{}", DelegateTable(*report, terminal));
  if (const Shown notes = DelegateNotes(*report, terminal); !notes.empty()) Print("\n{}", notes);
  Print("\npartitions in execution order\n{}", PartitionTable(*report, terminal));
  if (const Shown refusals = RefusalTable(*report, terminal); !refusals.empty()) Print("\n{}", refusals);
  if (options.per_operator) Print("\n{}", OperatorTable(*report, options.top, terminal));
  if (options.nodes) Print("\n{}", NodeTable(*report, options.top, terminal));
  return kDone;
}

}  // namespace

Command MakePartitionCommand(CLI::App& app) {
  auto options = std::make_shared<PartitionOptions>();
  CLI::App* syntax =
      app.add_subcommand("partition", "Show the placement of a model's nodes on delegates, with the reasons");
  AddModel(*syntax, options->model);
  options->context.AddTo(*syntax);
  AddShapes(*syntax, options->shapes);
  syntax->add_option("--node", options->node, "Show all details of one node")->type_name("NAME");
  syntax->add_flag("--nodes", options->nodes, "List all nodes as well");
  syntax->add_flag("--per-operator", options->per_operator, "List the sums of each operator as well");
  AddTop(*syntax, options->top);
  syntax->get_option("--top")->description("Show only the N most expensive operators and nodes; 0: all");
  AddJson(*syntax, options->json);
  SetExample(*syntax, "deputy partition model.onnx --config npu-first.yaml --shape image=1x3x224x224");
  return {syntax, [options] { return RunPartition(*options); }};
}

}  // namespace deputy::cli
