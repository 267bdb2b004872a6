// deputy partition: the placement of a model's nodes on delegates, with the reasons.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.hpp"
#include "cli/exit_code.hpp"
#include "cli/graph/graph_dot.hpp"
#include "cli/graph/graph_page.hpp"
#include "cli/inputs/model_inputs.hpp"
#include "cli/measure/measured_run.hpp"
#include "cli/report/json_report.hpp"
#include "cli/report/pinned_placement.hpp"
#include "cli/report/placement_text.hpp"
#include "cli/report/shape_text.hpp"
#include "cli/standard_streams.hpp"
#include "cli/terminal/quantity.hpp"
#include "cli/terminal/table.hpp"
#include "cli/terminal/terminal.hpp"
#include "deputy/inspect.hpp"
#include "deputy/model.hpp"
#include "deputy/output_file.hpp"
#include "deputy/printable.hpp"

namespace deputy::cli {
namespace {

// The type of an input, with the extents of the placement.
std::string TypeOfInput(const TensorInfo& info, const Shape& shape) {
  if (info.kind != ValueKind::kTensor) return TypeText(info);
  return fmt::format("{} {}", NameOf(info.dtype), ShapeText(shape));
}

struct PartitionOptions {
  std::string model, node, html, dot, pin;
  ContextOptions context;
  std::vector<std::string> shapes;
  uint32_t measure = 0;  // runs; 0: the model is not run
  bool nodes = false, per_operator = false, json = false;
  size_t top = 0;
};

Result<CompletedShapes> ShapesOf(const std::vector<TensorInfo>& inputs, const std::vector<std::string>& arguments) {
  DEPUTY_ASSIGN_OR_RETURN(const KnownShapes known, ParseShapes(arguments, inputs));
  return CompleteShapes(inputs, known);
}

// For a name that none of the placed nodes has: the passes may have removed it, or it is a number of 'inspect'.
std::string WhyNotPlaced(const PartitionOptions& options, const std::vector<std::string>& placed,
                         std::vector<std::string> of_operator) {
  const Result<ModelContents> file = InspectModel(options.model);
  const bool in_file = file.ok() && std::any_of(file->nodes.begin(), file->nodes.end(),
                                                [&](const InspectedNode& node) { return node.name == options.node; });
  if (in_file && options.node.rfind("unnamed ", 0) == 0)
    return fmt::format("'{}' is a number of the file; after the passes unnamed nodes have other names", options.node);
  if (in_file)
    return fmt::format("the passes removed the node '{}': its result is constant, unused or computed elsewhere",
                       options.node);
  // The number of an unnamed node is not a misspelling of another.
  const bool is_number = options.node.rfind("node ", 0) == 0;
  // A number or an operator is likely to be meant as "node 17", or as one of the nodes of that operator.
  if (std::find(placed.begin(), placed.end(), "node " + options.node) != placed.end())
    return fmt::format("the model has no node '{}'; did you mean 'node {}'?", options.node, options.node);
  if (!of_operator.empty()) {
    constexpr size_t kMostNamed = 5;
    const size_t count = of_operator.size();
    if (count > kMostNamed) of_operator.resize(kMostNamed);
    return fmt::format("'{}' is an operator, of these nodes: {}{}", options.node, Joined(of_operator),
                       count > kMostNamed ? fmt::format(", and {} more", count - kMostNamed) : "");
  }
  return fmt::format("the model has no node '{}'{}", options.node,
                     is_number ? " after the passes" : DidYouMean(options.node, placed));
}

int PrintNode(const PlacementReport& report, const PartitionOptions& options, const Terminal& terminal) {
  Json found = Json::array();
  Shown text;
  std::vector<std::string> names, of_operator;
  for (const NodeReport& node : report.nodes) {
    names.push_back(node.name);
    if (node.op_type == options.node) of_operator.push_back("'" + node.name + "'");
    if (node.name != options.node) continue;
    text += NodeText(report, node, terminal);
    found.push_back(ToJson(node));
  }
  if (found.empty()) return FailUsage("--node: " + WhyNotPlaced(options, names, of_operator) + "; --nodes lists all");
  if (options.json) {
    PrintJson({{"model", options.model}, {"nodes", std::move(found)}});
  } else {
    Print("{}", text);
  }
  return kDone;
}

// For --measure: with the same random inputs as `run`.
Result<MeasuredRun> Measure(const PartitionOptions& options, const Model& model) {
  DEPUTY_RETURN_IF_ERROR(RequireTensors(model));
  DEPUTY_ASSIGN_OR_RETURN(const BoundInputs bound, BindInputs(model.inputs(), {}, options.shapes, 1));
  std::vector<Tensor> inputs;
  for (const BoundInput& input : bound.inputs) inputs.push_back(input.tensor);
  return MeasureRun(model, inputs, options.measure);
}

// --html and --dot.
int WriteDrawings(const PartitionOptions& options, const Model& model, const CompletedShapes& completed) {
  MeasuredRun measured;
  if (options.measure != 0) {
    Result<MeasuredRun> run = Measure(options, model);
    if (!run.ok()) return Fail(Stage::kRun, WithAssumed(run.status(), completed.assumed));
    measured = std::move(run).value();
  }
  const Result<PlacedGraph> graph = model.PlacementWithGraph(completed.shapes);
  if (!graph.ok()) return Fail(Stage::kModel, WithAssumed(graph.status(), completed.assumed));
  const std::string name = std::filesystem::path(options.model).filename().string();
  const bool to_stdout = options.dot == "-";
  const auto write = [&](const std::string& path, const std::string& content) {
    const Status written = WriteOutputFile(path, content);
    if (written.ok() && !to_stdout) Print("written to {}\n", path);
    return written;
  };
  Status status;
  if (!options.html.empty())
    status = write(options.html, GraphPage(name, *graph, options.measure == 0 ? nullptr : &measured));
  if (status.ok() && to_stdout) PrintOnStdout(GraphDot(name, *graph));
  if (status.ok() && !to_stdout && !options.dot.empty()) status = write(options.dot, GraphDot(name, *graph));
  return status.ok() ? kDone : Fail(Stage::kRun, status);
}

// --pin.
int WritePinned(const PartitionOptions& options, const Model& model, const std::vector<Shape>& shapes,
                const PlacementReport& report) {
  std::string title = std::filesystem::path(options.model).filename().string();
  for (size_t i = 0; i < shapes.size(); ++i)
    title += fmt::format("{} {} {}", i == 0 ? " for" : ",", model.inputs()[i].name,
                         TypeOfInput(model.inputs()[i], shapes[i]));
  const Result<std::string> text = PinnedPlacement(Printable(title), report);
  if (!text.ok()) return FailUsage("--pin: " + text.status().message());
  const Status written = WriteOutputFile(options.pin, *text);
  if (!written.ok()) return Fail(Stage::kRun, written);
  Print("written to {}; use it as the last --config\n", options.pin);
  return kDone;
}

int RunPartition(const PartitionOptions& options) {
  int exit_status = kDone;
  std::optional<Context> context = options.context.Open(exit_status);
  if (!context) return exit_status;
  Model model;
  const Status built = BuildModel(model, options.model, *context, options.shapes);
  if (!built.ok()) return Fail(Stage::kModel, built);
  Result<CompletedShapes> completed = ShapesOf(model.inputs(), options.shapes);
  if (!completed.ok()) return Fail(Stage::kSetup, std::move(completed).status().At(options.model));
  PrintAssumed(completed->assumed);
  const std::vector<Shape>& shapes = completed->shapes;
  if (!options.html.empty() || !options.dot.empty()) return WriteDrawings(options, model, *completed);
  const Result<PlacementReport> report = model.Placement(shapes);
  if (!report.ok()) return Fail(Stage::kModel, WithAssumed(report.status(), completed->assumed));

  if (!options.pin.empty()) return WritePinned(options, model, shapes, *report);
  const Terminal terminal = TerminalOf(stdout);
  if (!options.node.empty()) return PrintNode(*report, options, terminal);
  if (options.json) {
    Json json = {{"model", options.model}};
    json.update(ToJson(*report));
    PrintJson(json);
    return kDone;
  }
  Print("{}", Paragraph(terminal, "",
                        Show("{}: {} after the passes, {} multiply-adds", terminal.Paint(Paint::kBold, options.model),
                             Plural(report->nodes.size(), "node"), CountText(report->multiply_adds))));
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
  CLI::Option* html =
      syntax->add_option("--html", options->html, "Write a page that shows the graph: open it in a browser");
  CLI::Option* dot = syntax->add_option("--dot", options->dot, "Write the graph for Graphviz; - for stdout");
  CLI::Option* pin = syntax->add_option(
      "--pin", options->pin, "Write a configuration that permits this placement only, to be used after the others");
  pin->excludes(html)->excludes(dot);
  for (CLI::Option* file : {html, dot, pin}) {
    file->type_name("FILE");
    for (const char* report : {"--node", "--nodes", "--per-operator", "--top", "--json"})
      file->excludes(syntax->get_option(report));
  }
  syntax
      ->add_option(
          "--measure", options->measure,
          "Run the model so many times, with random inputs, and show times and differences from the CPU as well")
      ->check(CLI::Range(1U, 1000000U))
      ->needs(html)
      ->type_name("N");
  SetExample(*syntax, "deputy partition model.onnx --config npu-first --shape image=1x3x224x224");
  return {syntax, [options] { return RunPartition(*options); }};
}

}  // namespace deputy::cli
