// deputy tune: searches for the fastest placement of a model at leisure and writes it beside the model.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.hpp"
#include "cli/exit_code.hpp"
#include "cli/inputs/model_inputs.hpp"
#include "cli/messages.hpp"
#include "cli/report/json_report.hpp"
#include "cli/terminal/progress.hpp"
#include "cli/terminal/quantity.hpp"
#include "cli/terminal/table.hpp"
#include "cli/terminal/terminal.hpp"
#include "deputy/model.hpp"
#include "deputy/output_file.hpp"

namespace deputy::cli {
namespace {

struct TuneOptions {
  std::string model, output, budget = "60s";
  ContextOptions context;
  InputArguments inputs;
  std::vector<std::string> shapes;
  uint64_t seed = 1;
  bool json = false;
};

void PrintReport(const MeasureReport& report, const std::string& output) {
  KeyTable table;
  table.Add("as ordered", report.order_ns == 0 ? "not measured" : DurationText(report.order_ns));
  if (report.cpu_ns != 0) table.Add("CPU alone", DurationText(report.cpu_ns));
  if (report.best_ns != 0) table.Add("fastest", DurationText(report.best_ns));
  table.Add("decision", report.summary);
  Print("{}written to {}\n", table.Text(TerminalOf(stdout), "  "), output);
}

int RunTune(TuneOptions options) {
  int exit_status = kDone;
  const Result<std::chrono::nanoseconds> budget = ParseDuration(options.budget);
  if (!budget.ok()) return FailUsage("--budget must be a duration such as 60s: " + budget.status().message());
  const std::string output = options.output.empty() ? options.model + ".placement.yaml" : options.output;
  if (const Status status = CheckOutputFile(output); !status.ok()) return Fail(Stage::kRun, status);
  const std::optional<Context> context = options.context.Read(exit_status);
  if (!context) return exit_status;
  const bool is_read = context->MeasuresPlacements();
  options.context.settings.emplace_back("placement.policy=measured");
  std::optional<LoadedModel> loaded =
      LoadModel(options.model, options.context, options.inputs, options.shapes, options.seed, exit_status);
  if (!loaded) return exit_status;
  Result<Session> session = loaded->model.CreateSession();
  if (!session.ok()) return Fail(Stage::kModel, session.status());

  MeasureOptions limits;
  limits.budget = *budget;
  limits.progress = [](const std::string& candidate, double used) {
    ShowProgress(fmt::format("{:.0f} % of the budget: {}", 100 * used, candidate));
  };
  const Result<MeasureReport> report = session->MeasurePlacement(loaded->tensors(), limits);
  ClearProgress();
  if (!report.ok()) return Fail(Stage::kRun, WithAssumed(report.status(), loaded->bound.assumed));
  const Result<std::string> text = loaded->model.MeasuredPlacements();
  if (!text.ok()) return Fail(Stage::kRun, text.status());
  const Status status = WriteOutputFile(output, *text);
  if (!status.ok()) return Fail(Stage::kRun, status);
  if (options.json) {
    PrintJson({{"model", options.model},
               {"output", output},
               {"summary", report->summary},
               {"order_ns", report->order_ns},
               {"best_ns", report->best_ns},
               {"cpu_ns", report->cpu_ns},
               {"candidates", report->candidates},
               {"complete", report->complete}});
  } else {
    PrintReport(*report, output);
  }
  if (!is_read)
    PrintMessage(LogLevel::kWarning, "host",
                 "this configuration does not read the file: it needs 'placement: {policy: measured}', or --set "
                 "placement.policy=measured");
  return kDone;
}

}  // namespace

Command MakeTuneCommand(CLI::App& app) {
  auto options = std::make_shared<TuneOptions>();
  CLI::App* syntax = app.add_subcommand("tune", "Search for the fastest placement and write it beside the model");
  AddModel(*syntax, options->model);
  options->context.AddTo(*syntax);
  syntax->add_option("--budget", options->budget, "Time for the search")->capture_default_str()->type_name("DURATION");
  syntax->add_option("-o,--output", options->output, "File to write [default: MODEL.placement.yaml]")
      ->type_name("FILE");
  AddInputs(*syntax, options->inputs, options->seed);
  AddShapes(*syntax, options->shapes);
  AddJson(*syntax, options->json);
  SetExample(*syntax, "deputy tune model.onnx --config default --budget 5min");
  return {syntax, [options] { return RunTune(*options); }};
}

}  // namespace deputy::cli
