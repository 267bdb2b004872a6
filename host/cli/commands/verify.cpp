// deputy verify: compares every partition of every delegate with the CPU.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/exit_code.hpp"
#include "cli/inputs/model_inputs.hpp"
#include "cli/inputs/output_compare.hpp"
#include "cli/measure/measured_run.hpp"
#include "cli/report/json_report.hpp"
#include "cli/report/placement_text.hpp"
#include "cli/terminal/quantity.hpp"
#include "cli/terminal/table.hpp"
#include "cli/terminal/terminal.hpp"
#include "deputy/model.hpp"

namespace deputy::cli {
namespace {

struct VerifyCommandOptions {
  std::string model, folder;
  ContextOptions context;
  InputArguments inputs;
  std::vector<std::string> shapes;
  ToleranceFlags tolerance;
  uint64_t seed = 1;
  bool json = false;
};

size_t CountWrong(const std::vector<PartitionVerification>& partitions) {
  return static_cast<size_t>(std::count_if(
      partitions.begin(), partitions.end(),
      [](const PartitionVerification& partition) { return partition.result == VerificationResult::kWrong; }));
}

void PrintReport(const std::vector<PartitionVerification>& partitions, const Terminal& terminal) {
  Table table({{"partition"},
               {"nodes", Align::kRight, Fit::kMiddle, 1},
               {"operators", Align::kLeft, Fit::kList, 2},
               {"result"},
               {"max |d|", Align::kRight, Fit::kMiddle, 3},
               {"detail", Align::kLeft, Fit::kWrap}});
  for (const PartitionVerification& partition : partitions) {
    table.AddRow({partition.partition, CountText(partition.nodes.size()), CountedNames(partition.op_types, terminal),
                  VerificationText(partition.result),
                  partition.result == VerificationResult::kNotVerified ? "-" : NumberText(partition.max_difference),
                  partition.detail});
    if (partition.result != VerificationResult::kWrong) continue;
    for (const std::vector<std::string>& group : partition.wrong_nodes)
      table.AddRow({"", CountText(group.size()), "", "  wrong", "", WrongNodesText(partition, group)});
    if (partition.wrong_nodes.empty())
      table.AddRow({"", CountText(partition.nodes.size()), "", "  wrong", "", "only the whole partition"});
    for (const std::string& folder : partition.case_folders) table.AddRow({"", "", "", "", "", "written to " + folder});
  }
  Print("{}", table.Text(terminal, "  "));
  if (CountWrong(partitions) != 0) Print("\n{}", Paragraph(terminal, "", kToleranceHint));
}

Json JsonOf(const std::string& model, const std::vector<PartitionVerification>& partitions) {
  Json rows = Json::array();
  for (const PartitionVerification& partition : partitions)
    rows.push_back({{"delegate", partition.delegate},
                    {"plugin", partition.plugin},
                    {"partition", partition.partition},
                    {"nodes", partition.nodes},
                    {"operators", partition.op_types},
                    {"result", VerificationText(partition.result)},
                    {"max_difference", partition.max_difference},
                    {"detail", partition.detail},
                    {"wrong_nodes", partition.wrong_nodes},
                    {"case_folders", partition.case_folders}});
  return {{"model", model}, {"partitions", std::move(rows)}};
}

int RunVerify(const VerifyCommandOptions& options) {
  int exit_status = kDone;
  std::optional<LoadedModel> loaded =
      LoadModel(options.model, options.context, options.inputs, options.shapes, options.seed, exit_status);
  if (!loaded) return exit_status;
  const Result<std::vector<PartitionVerification>> partitions =
      loaded->model.Verify(loaded->tensors(), {options.tolerance, options.folder});
  if (!partitions.ok()) return Fail(Stage::kRun, WithAssumed(partitions.status(), loaded->bound.assumed));
  if (options.json) {
    PrintJson(JsonOf(options.model, *partitions));
  } else {
    PrintReport(*partitions, TerminalOf(stdout));
  }
  if (partitions->empty()) return FailNo("no delegate has a node of the model: nothing was compared");
  const size_t wrong = CountWrong(*partitions);
  if (wrong != 0) return FailNo(fmt::format("{} of {} partitions are wrong", wrong, partitions->size()));
  return kDone;
}

}  // namespace

Command MakeVerifyCommand(CLI::App& app) {
  auto options = std::make_shared<VerifyCommandOptions>();
  CLI::App* syntax = app.add_subcommand("verify", "Compare every partition of every delegate with the CPU");
  AddModel(*syntax, options->model);
  options->context.AddTo(*syntax);
  AddInputs(*syntax, options->inputs, options->seed);
  AddShapes(*syntax, options->shapes);
  options->tolerance.AddTo(*syntax);
  syntax
      ->add_option("--write", options->folder,
                   "Folder for wrong nodes: each group as a case for test-case, and tensors as .npy")
      ->type_name("DIR");
  AddJson(*syntax, options->json);
  SetExample(*syntax, "deputy verify model.onnx --config default --write mismatches");
  return {syntax, [options] { return RunVerify(*options); }};
}

}  // namespace deputy::cli
