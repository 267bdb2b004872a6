// deputy run: builds and runs a model, shows outputs, placement and times, and compares outputs on request.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.hpp"
#include "cli/exit_code.hpp"
#include "cli/inputs/element.hpp"
#include "cli/inputs/model_inputs.hpp"
#include "cli/inputs/output_compare.hpp"
#include "cli/measure/timing.hpp"
#include "cli/report/placement_text.hpp"
#include "cli/report/run_json.hpp"
#include "cli/report/run_profile.hpp"
#include "cli/report/shape_text.hpp"
#include "cli/report/tensor_summary.hpp"
#include "cli/report/top_classes.hpp"
#include "cli/report/trace.hpp"
#include "cli/terminal/progress.hpp"
#include "cli/terminal/quantity.hpp"
#include "cli/terminal/table.hpp"
#include "cli/terminal/terminal.hpp"
#include "deputy/model.hpp"
#include "deputy/output_file.hpp"
#include "deputy/tensor_file.hpp"

namespace deputy::cli {
namespace {

constexpr size_t kStepRows = 20;  // of --profile

struct RunOptions {
  std::string model, output_dir;
  ContextOptions context;
  InputArguments inputs;
  std::vector<std::string> expected, shapes, extra_outputs;
  ToleranceFlags tolerance;
  TopOptions top;
  uint64_t seed = 1;
  uint32_t repeat = 1;
  bool profile = false, json = false;
  std::string trace;    // file
  std::string timeout;  // empty: that of the configuration
};

struct Timed {
  FirstRun first;
  std::vector<uint64_t> run_ns;  // of the runs after the first, if there are any, else of the first
  DelegateTimes delegate_ns;     // host time, sum of these runs
  DelegateTimes ran_nodes;       // nodes of the last run
  std::vector<Incident> incidents;
  PlacementReport before, after;  // device time is their difference
};

uint64_t MedianOf(std::vector<uint64_t> values) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Status RunTimed(Session& session, const std::vector<Tensor>& inputs, uint32_t repeat, std::vector<Tensor>& outputs,
                Timed& timed) {
  session.EnableProfiling(true);
  DEPUTY_ASSIGN_OR_RETURN(timed.before, session.DelegateShares());
  ShowProgress("first run");
  const FirstRunWatch watch;
  DEPUTY_RETURN_IF_ERROR(session.Predict(inputs, &outputs));
  timed.first = watch.Stop();
  timed.incidents = session.statistics().incidents;
  if (repeat == 1) {
    timed.run_ns = {session.statistics().total_ns};
    timed.delegate_ns = session.statistics().delegate_ns;
  } else {
    DEPUTY_ASSIGN_OR_RETURN(timed.before, session.DelegateShares());
  }
  for (uint32_t i = 1; i < repeat; ++i) {
    ShowProgress(fmt::format("run {} of {}", i + 1, repeat));
    DEPUTY_RETURN_IF_ERROR(session.Predict(inputs, &outputs));
    timed.run_ns.push_back(session.statistics().total_ns);
    AddTimes(timed.delegate_ns, session.statistics().delegate_ns);
    const std::vector<Incident>& more = session.statistics().incidents;
    timed.incidents.insert(timed.incidents.end(), more.begin(), more.end());
  }
  timed.ran_nodes = session.statistics().delegate_nodes;
  ClearProgress();
  DEPUTY_ASSIGN_OR_RETURN(timed.after, session.DelegateShares());
  if (repeat == 1 && timed.first.measured != 0) {
    // The device's time of a search is not that of the run.
    timed.before = timed.after;
    const std::vector<uint64_t>& device_ns = session.statistics().device_ns;
    for (size_t d = 0; d < timed.before.delegates.size() && d < device_ns.size(); ++d)
      timed.before.delegates[d].device.busy_ns -= std::min(timed.before.delegates[d].device.busy_ns, device_ns[d]);
  }
  return {};
}

Shown TimeTable(const Timed& timed, const Terminal& terminal) {
  Table table({{"delegate"},
               {"nodes", Align::kRight, Fit::kMiddle, 1},
               {"multiply-adds", Align::kRight, Fit::kMiddle, 3},
               {"", Align::kRight, Fit::kMiddle, 3},
               {"host time", Align::kRight},
               {"device time", Align::kRight, Fit::kMiddle, 1},
               {"clock", Align::kLeft, Fit::kWrap, 4}});
  const PlacementReport& report = timed.after;
  const uint64_t runs = timed.run_ns.size();
  for (size_t d = 0; d < report.delegates.size(); ++d) {
    const DelegateReport& delegate = report.delegates[d];
    const uint64_t host_ns = TimeOf(timed.delegate_ns, delegate.name) / runs;
    std::string device_time;
    if (delegate.has_device && d < timed.before.delegates.size())
      device_time = DurationText(BusyBetween(timed.before.delegates[d], delegate) / runs);
    table.AddRow({delegate.name, CountText(TimeOf(timed.ran_nodes, delegate.name)), CountText(delegate.multiply_adds),
                  ShareText(delegate.multiply_adds, report.multiply_adds), DurationText(host_ns), device_time,
                  delegate.has_device ? ClockSentence(delegate.device) : ""});
  }
  return table.Text(terminal, "  ");
}

// The lines "time ..." and "first run ...".
Shown TimeLines(const Timed& timed, uint32_t repeat, const Terminal& terminal) {
  const std::vector<uint64_t>& run_ns = timed.run_ns;
  const std::string cold = ColdText(timed.first);
  if (repeat == 1) {
    Shown lines = Show("time {}\n", DurationText(run_ns.front()));
    if (!cold.empty()) lines += Paragraph(terminal, "", Show("this was the first run, {}", cold));
    if (timed.first.measured != 0)
      lines += Paragraph(terminal, "",
                         Show("it ran by the order of the configuration, as the table shows; the next run uses the "
                              "measured placement"));
    return lines;
  }
  const auto [least, most] = std::minmax_element(run_ns.begin(), run_ns.end());
  Shown lines =
      Paragraph(terminal, "",
                run_ns.size() == 1 ? Show("time {}, after the first run", DurationText(run_ns.front()))
                                   : Show("time {}, median of {} from {} to {}", DurationText(MedianOf(run_ns)),
                                          Plural(run_ns.size(), "run"), DurationText(*least), DurationText(*most)));
  lines +=
      Paragraph(terminal, "", Show("first run {}{}", DurationText(timed.first.ns), cold.empty() ? "" : ", " + cold));
  return lines;
}

// The file name for a tensor, whose name may contain characters that a file name must not.
std::string FileNameOf(const std::string& tensor, size_t index) {
  std::string name;
  for (const char c : tensor) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    name += plain || (c == '.' && !name.empty()) ? c : '_';
  }
  return (name.empty() ? fmt::format("output_{}", index) : name) + ".npy";
}

Status WriteOutputs(const std::string& folder, const std::vector<TensorInfo>& infos,
                    const std::vector<Tensor>& outputs) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return Status(StatusCode::kUnavailable, "the directory cannot be created: " + error.message()).At(folder);
  std::vector<std::string> written;
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::string name = FileNameOf(infos[i].name, i);
    if (std::find(written.begin(), written.end(), name) != written.end()) name = fmt::format("output_{}_{}", i, name);
    DEPUTY_RETURN_IF_ERROR(WriteTensorFile((std::filesystem::path(folder) / name).string(), outputs[i]));
    written.push_back(name);
  }
  Print("written to {}: {}\n", folder, Joined(written));
  return {};
}

struct Expected {
  size_t output = 0;
  std::string file;
};

Result<std::vector<Expected>> ParseExpected(const std::vector<std::string>& arguments,
                                            const std::vector<TensorInfo>& infos) {
  std::vector<Expected> expected;
  for (const std::string& argument : arguments) {
    DEPUTY_ASSIGN_OR_RETURN(NamedValue named, ParseNamedValue("--expect", "NAME=FILE", argument));
    Result<size_t> index = FindByName("output", named.name, infos);
    if (!index.ok()) return std::move(index).status().At("--expect " + argument);
    expected.push_back({*index, std::move(named.value)});
  }
  return expected;
}

// Whether a file fits the model's declaration. If not, it is an error in the command line; a difference from this run's
// output is a mismatch.
bool FitsOutput(const Tensor& want, const TensorInfo& info) {
  if (info.dtype == DType::kUndefined) return true;  // of a custom operator: known at run time
  const DType dtype = IsFloating(want.dtype()) && IsFloating(info.dtype) ? info.dtype : want.dtype();
  return CheckFits("", dtype, want.shape(), info).ok();
}

// Returns the exit status: kNo if an output does not match. `assumed`: the assumed extents of the inputs' shapes.
int CompareAll(const std::vector<Expected>& expected, const std::vector<TensorInfo>& infos,
               const std::vector<Tensor>& outputs, const ToleranceFlags& tolerance, const ModelTraits& model,
               const std::string& assumed, std::vector<Comparison>& comparisons) {
  const Terminal terminal = TerminalOf(stdout);
  int exit_status = kDone;
  for (const auto& [index, file] : expected) {
    const Tensor& got = outputs[index];
    const Result<Tensor> read = ReadTensorFile(file, got.dtype(), got.shape());
    if (!read.ok()) return Fail(Stage::kSetup, WithAssumed(read.status(), assumed));
    const Tensor want = AsBits(*read, got.dtype());
    if (!FitsOutput(want, infos[index]))
      return FailUsage(fmt::format("--expect: {} is {}, output '{}' is {}", file, TypeText(want), infos[index].name,
                                   TypeText(infos[index])));
    OutputComparer comparer(tolerance);
    comparer.set_model(model);
    const std::string difference = comparer.Compare(infos[index].name, got, want);
    comparisons.push_back(
        {infos[index].name, file, difference.empty(), difference.empty() ? comparer.Summary() : difference});
    if (difference.empty()) {
      Print("{} {}: agrees with {}, {}\n", terminal.Paint(Paint::kGood, "match"), infos[index].name, file,
            comparer.Summary());
    } else {
      const bool of_guess = !assumed.empty() && want.shape() != got.shape();
      Print("{} {}: {}{}\n", terminal.Paint(Paint::kBad, "mismatch"), infos[index].name, difference,
            of_guess ? "; " + assumed : "");
      exit_status = kNo;
    }
  }
  return exit_status;
}

void PrintInputs(const std::vector<TensorInfo>& infos, const BoundInputs& bound, const Terminal& terminal) {
  Table table({{"input"}, {"type"}, {"from", Align::kLeft, Fit::kMiddle, 1}});
  for (size_t i = 0; i < infos.size(); ++i)
    table.AddRow({infos[i].name, TypeText(bound.inputs[i].tensor), bound.inputs[i].origin});
  Print("{}", table.Text(terminal, "  "));
}

// Texts; empty for a tensor without numbers. NaNs are counted after the first values.
struct SummaryText {
  std::string min, mean, max, first;
};

SummaryText TextOf(const TensorSummary& summary) {
  SummaryText text;
  if (summary.has_range()) {
    text.min = NumberText(summary.min);
    text.mean = NumberText(summary.mean);
    text.max = NumberText(summary.max);
  }
  for (const double value : summary.first) text.first += (text.first.empty() ? "" : " ") + NumberText(value);
  if (static_cast<size_t>(summary.count) > summary.first.size()) text.first += " ...";
  if (summary.nans != 0) text.first += fmt::format(" ({} NaN)", summary.nans);
  return text;
}

void PrintOutputs(const std::vector<TensorInfo>& infos, const std::vector<Tensor>& outputs, const Terminal& terminal) {
  Table table({{"output"},
               {"type"},
               {"min", Align::kRight, Fit::kMiddle, 2},
               {"mean", Align::kRight, Fit::kMiddle, 3},
               {"max", Align::kRight, Fit::kMiddle, 2},
               {"first values", Align::kLeft, Fit::kWrap, 1}});
  for (size_t i = 0; i < outputs.size(); ++i) {
    const SummaryText summary = TextOf(Summarize(outputs[i]));
    table.AddRow({infos[i].name, TypeText(outputs[i]), summary.min, summary.mean, summary.max, summary.first});
  }
  Print("{}", table.Text(terminal, "  "));
}

int RunRun(const RunOptions& options) {
  int exit_status = kDone;
  if (options.json && options.profile) return FailUsage("--profile prints a table; with --json use --trace FILE");
  if (options.json) PrintNoText();
  const Result<std::optional<std::chrono::nanoseconds>> timeout = ParseTimeout(options.timeout);
  if (!timeout.ok()) return FailUsage(timeout.status().message());
  std::vector<std::string> labels;
  if (!options.top.labels.empty()) {
    Result<std::vector<std::string>> read = ReadLabels(options.top.labels);
    if (!read.ok()) return Fail(Stage::kSetup, std::move(read).status().At("--labels"));
    labels = std::move(read).value();
  }
  BuildOptions build;
  build.extra_outputs = options.extra_outputs;
  std::optional<LoadedModel> loaded =
      LoadModel(options.model, options.context, options.inputs, options.shapes, options.seed, exit_status, build);
  if (!loaded) return exit_status;
  Model& model = loaded->model;
  const BoundInputs* const bound = &loaded->bound;
  const auto fail = [&](Stage stage, Status why) { return Fail(stage, WithAssumed(std::move(why), bound->assumed)); };
  const Result<std::vector<Expected>> expected = ParseExpected(options.expected, model.outputs());
  if (!expected.ok()) return Fail(Stage::kSetup, expected.status());
  const std::vector<Tensor> inputs = loaded->tensors();

  std::optional<Session> session = OpenSession(*loaded, exit_status);
  if (!session) return exit_status;
  if (*timeout) session->SetTimeout(**timeout);
  std::vector<Tensor> outputs;
  Timed timed;
  Status status = RunTimed(*session, inputs, options.repeat, outputs, timed);
  if (!status.ok()) return fail(Stage::kRun, std::move(status));
  std::vector<ProfiledRun> profiled;
  if (options.profile || !options.trace.empty()) {
    // In a separate run: events cost time.
    session->EnableEvents(true);
    status = session->Predict(inputs, &outputs);
    if (!status.ok()) return fail(Stage::kRun, std::move(status));
    profiled.push_back({session->statistics(), session->events()});
  }

  const Result<std::vector<TopRow>> top = FindTopClasses(options.top, labels, model.outputs(), outputs);
  if (!top.ok()) return Fail(Stage::kSetup, top.status());

  const Terminal terminal = TerminalOf(stdout);
  PrintInputs(model.inputs(), *bound, terminal);
  Print("\n");
  PrintOutputs(model.outputs(), outputs, terminal);
  if (!top->empty()) {
    Print("\n");
    PrintTopClasses(*top, terminal);
  }
  Print("\n{}\n{}", TimeTable(timed, terminal), TimeLines(timed, options.repeat, terminal));
  if (options.profile) {
    const RunProfile profile(profiled);
    Print("\n{}\n{}", profile.StepTable(kStepRows, terminal), profile.OperatorTable(terminal));
  }
  if (!options.trace.empty()) {
    status = WriteOutputFile(options.trace, TraceJson(options.model, profiled, timed.after.delegates));
    if (!status.ok()) return Fail(Stage::kRun, status);
    Print("trace written to {}\n", options.trace);
  }
  if (!options.output_dir.empty()) {
    status = WriteOutputs(options.output_dir, model.outputs(), outputs);
    if (!status.ok()) return Fail(Stage::kRun, status);
  }
  std::vector<Comparison> comparisons;
  ModelTraits traits;
  if (!expected->empty()) {
    Result<ModelTraits> found = session->Traits();
    if (!found.ok()) return Fail(Stage::kRun, found.status());
    traits = *std::move(found);
  }
  exit_status = CompareAll(*expected, model.outputs(), outputs, options.tolerance, traits, bound->assumed, comparisons);
  if (options.json && exit_status <= kNo)
    PrintJson(ToJson(RunResult{options.model, model.inputs(), model.outputs(), *bound, outputs, timed.run_ns,
                               timed.delegate_ns, timed.ran_nodes, timed.before, timed.after, comparisons, *top,
                               timed.incidents, model.Health().degraded}));
  return exit_status;
}

}  // namespace

Command MakeRunCommand(CLI::App& app) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* syntax = app.add_subcommand("run", "Run a model and show outputs, placement and times");
  AddModel(*syntax, options->model);
  options->context.AddTo(*syntax);
  AddInputs(*syntax, options->inputs, options->seed);
  AddRepeated(*syntax, "--expect", options->expected, "NAME=FILE", "Expected output file; exit status 1 on a mismatch");
  options->tolerance.AddTo(*syntax);
  options->top.AddTo(*syntax);
  AddRepeated(*syntax, "--output", options->extra_outputs, "NAME",
              "Value of the graph that becomes an output too: an intermediate result");
  syntax->add_option("--output-dir", options->output_dir, "Directory for the outputs, written as .npy")
      ->type_name("DIR");
  AddShapes(*syntax, options->shapes);
  syntax->add_option("--repeat", options->repeat, "Number of runs; the median time is shown")
      ->capture_default_str()
      ->check(CLI::Range(1U, 1000000U))
      ->type_name("N");
  AddTimeout(*syntax, options->timeout);
  syntax->add_flag("--profile", options->profile,
                   "Run once more and show the time of each step, as 'deputy profile' does for many runs");
  syntax
      ->add_option("--trace", options->trace,
                   "Run once more and write a JSON trace for Chrome's and Perfetto's viewers")
      ->type_name("FILE");
  AddJson(*syntax, options->json);
  SetExample(*syntax, "deputy run model.onnx --config npu-first --input image=photo.jpg --top 5 --labels names.txt");
  return {syntax, [options] { return RunRun(*options); }};
}

}  // namespace deputy::cli
