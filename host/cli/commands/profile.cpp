// deputy profile: where the time of a run goes, as tables and as a trace.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.hpp"
#include "cli/exit_code.hpp"
#include "cli/inputs/model_inputs.hpp"
#include "cli/report/json_report.hpp"
#include "cli/report/run_profile.hpp"
#include "cli/report/trace.hpp"
#include "cli/terminal/progress.hpp"
#include "cli/terminal/quantity.hpp"
#include "cli/terminal/terminal.hpp"
#include "deputy/model.hpp"
#include "deputy/output_file.hpp"

namespace deputy::cli {
namespace {

struct ProfileOptions {
  std::string model, trace;
  ContextOptions context;
  InputArguments inputs;
  std::vector<std::string> shapes;
  uint32_t runs = 10, warmup = 3;
  size_t top = 20;
  uint64_t seed = 1;
  bool json = false;
};

Result<std::vector<ProfiledRun>> Measure(Session& session, const std::vector<Tensor>& inputs,
                                         const ProfileOptions& options) {
  std::vector<Tensor> outputs;
  std::vector<ProfiledRun> runs;
  for (uint32_t i = 0; i < options.warmup; ++i) DEPUTY_RETURN_IF_ERROR(session.Predict(inputs, &outputs));
  session.EnableEvents(true);
  // The first run with events also asks delegates for their maps of operations and nodes.
  if (options.warmup != 0) DEPUTY_RETURN_IF_ERROR(session.Predict(inputs, &outputs));
  for (uint32_t i = 0; i < options.runs; ++i) {
    ShowProgress(fmt::format("run {} of {}", i + 1, options.runs));
    DEPUTY_RETURN_IF_ERROR(session.Predict(inputs, &outputs));
    runs.push_back({session.statistics(), session.events()});
  }
  ClearProgress();
  return runs;
}

int RunProfileCommand(const ProfileOptions& options) {
  int exit_status = kDone;
  std::optional<LoadedModel> loaded =
      LoadModel(options.model, options.context, options.inputs, options.shapes, options.seed, exit_status);
  if (!loaded) return exit_status;
  const auto fail = [&](Stage stage, Status why) {
    return Fail(stage, WithAssumed(std::move(why), loaded->bound.assumed));
  };
  const std::vector<Tensor> inputs = loaded->tensors();
  std::vector<Shape> shapes;
  for (const Tensor& input : inputs) shapes.push_back(input.shape());
  Result<Session> session = loaded->model.CreateSession();
  if (!session.ok()) return Fail(Stage::kModel, session.status());
  Status status = session->Resize(shapes);
  if (!status.ok()) return fail(Stage::kModel, std::move(status));
  Result<std::vector<ProfiledRun>> runs = Measure(*session, inputs, options);
  if (!runs.ok()) return fail(Stage::kRun, std::move(runs).status());
  const Result<PlacementReport> placement = session->Placement();
  if (!placement.ok()) return Fail(Stage::kRun, placement.status());

  const RunProfile profile(*runs);
  if (options.json) {
    Json json = {{"model", options.model}, {"warmup", options.warmup}};
    json.update(profile.ToJson());
    PrintJson(json);
  } else {
    const Terminal terminal = TerminalOf(stdout);
    Print("{}\n{}", profile.StepTable(options.top, terminal), profile.OperatorTable(terminal));
    Print("\nmean of {}\n", Plural(profile.runs(), "run"));
  }
  if (options.trace.empty()) return kDone;
  status = WriteOutputFile(options.trace, TraceJson(options.model, *runs, placement->delegates));
  if (!status.ok()) return Fail(Stage::kRun, status);
  if (!options.json) Print("trace written to {}\n", options.trace);
  return kDone;
}

}  // namespace

Command MakeProfileCommand(CLI::App& app) {
  auto options = std::make_shared<ProfileOptions>();
  CLI::App* syntax = app.add_subcommand("profile", "Show where the time of a run goes, by step and by operator");
  AddModel(*syntax, options->model);
  options->context.AddTo(*syntax);
  AddRuns(*syntax, options->runs);
  syntax->add_option("--warmup", options->warmup, "Warm-up runs before the timed ones")
      ->capture_default_str()
      ->check(CLI::Range(0U, 1000000U))
      ->type_name("N");
  syntax->add_option("--top", options->top, "Show the N longest steps, and operations of each; 0: all")
      ->capture_default_str()
      ->type_name("N");
  syntax->add_option("--trace", options->trace, "Write a JSON trace of the timed runs for Perfetto's viewer")
      ->type_name("FILE");
  AddInputs(*syntax, options->inputs, options->seed);
  AddShapes(*syntax, options->shapes);
  AddJson(*syntax, options->json);
  SetExample(*syntax, "deputy profile model.onnx --config npu-first --trace trace.json");
  return {syntax, [options] { return RunProfileCommand(*options); }};
}

}  // namespace deputy::cli
