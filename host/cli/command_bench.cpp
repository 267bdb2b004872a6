// deputy bench: the times of loading and running a model, its memory, and the time of each delegate.
#include <fmt/format.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.hpp"
#include "cli/exit_code.hpp"
#include "cli/json_report.hpp"
#include "cli/model_inputs.hpp"
#include "cli/progress.hpp"
#include "cli/quantity.hpp"
#include "cli/shape_text.hpp"
#include "cli/table.hpp"
#include "cli/terminal.hpp"
#include "cli/timing.hpp"
#include "deputy/model.hpp"

namespace deputy::cli {
namespace {

// Timing every step costs time itself, so the times of delegates are measured in separate runs.
constexpr uint32_t kMostProfiledRuns = 10;

struct BenchOptions {
  std::string model;
  ContextOptions context;
  std::vector<std::string> inputs, shapes;
  uint32_t threads = 0, runs = 50, warmup = 5;
  uint64_t seed = 1;
  bool json = false;
};

struct Measured {
  uint64_t open_ns = 0, build_ns = 0, prepare_ns = 0, first_ns = 0;
  uint64_t memory_before = 0, memory_peak = 0;  // bytes
  BoundInputs bound;
  Latency latency;
  uint32_t profiled_runs = 0;
  DelegateTimes delegate_ns;  // per profiled run
  PlacementReport placement;
};

// The peak of the process's resident memory, in bytes.
uint64_t PeakMemory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}

// Settings for the CPU's threads and those of every configured delegate with an option for them.
Result<std::vector<std::string>> ThreadSettings(const Context& context, uint32_t threads) {
  std::vector<std::string> settings = {fmt::format("cpu.threads={}", threads)};
  DEPUTY_ASSIGN_OR_RETURN(const PluginListing listing, context.ListPlugins());
  for (const PluginReport& plugin : listing.plugins)
    for (const PluginDelegateReport& delegate : plugin.delegates) {
      const bool has_threads = std::any_of(delegate.options.begin(), delegate.options.end(),
                                           [](const OptionReport& option) { return option.name == "threads"; });
      if (!has_threads) continue;
      for (const std::string& user : delegate.used_by)  // "onednn (default.yaml:12:5)"
        settings.push_back(fmt::format("delegates.{}.options.threads={}", user.substr(0, user.find(" (")), threads));
    }
  return settings;
}

Status TimeRuns(Session& session, const BenchOptions& options, Measured& measured) {
  std::vector<Tensor> inputs, outputs;
  for (const BoundInput& input : measured.bound.inputs) inputs.push_back(input.tensor);
  Stopwatch watch;
  DEPUTY_RETURN_IF_ERROR(session.Predict(inputs, &outputs));
  measured.first_ns = watch.Lap();
  for (uint32_t i = 0; i < options.warmup; ++i) DEPUTY_RETURN_IF_ERROR(session.Predict(inputs, &outputs));
  std::vector<uint64_t> run_ns(options.runs);
  ShowProgress(Plural(options.runs, "run"));
  for (uint64_t& ns : run_ns) {
    watch.Lap();
    DEPUTY_RETURN_IF_ERROR(session.Predict(inputs, &outputs));
    ns = watch.Lap();
  }
  ClearProgress();
  measured.latency = SummarizeRuns(std::move(run_ns));

  session.EnableProfiling(true);
  measured.profiled_runs = std::min(options.runs, kMostProfiledRuns);
  for (uint32_t i = 0; i < measured.profiled_runs; ++i) {
    DEPUTY_RETURN_IF_ERROR(session.Predict(inputs, &outputs));
    AddTimes(measured.delegate_ns, session.statistics().delegate_ns);
  }
  for (auto& [name, ns] : measured.delegate_ns) ns /= measured.profiled_runs;
  return {};
}

uint64_t TimeOfAll(const Measured& measured) {
  uint64_t sum = 0;
  for (const auto& [name, ns] : measured.delegate_ns) sum += ns;
  return sum;
}

double RunsPerSecond(const Measured& measured) { return measured.latency.mean > 0 ? 1e9 / measured.latency.mean : 0; }

Json JsonOf(const BenchOptions& options, const std::vector<TensorInfo>& infos, const Measured& measured) {
  Json inputs = Json::array(), delegates = Json::array();
  for (size_t i = 0; i < infos.size(); ++i) {
    const Tensor& tensor = measured.bound.inputs[i].tensor;
    inputs.push_back({{"name", infos[i].name}, {"dtype", NameOf(tensor.dtype())}, {"shape", tensor.shape()}});
  }
  const double whole = static_cast<double>(std::max<uint64_t>(1, TimeOfAll(measured)));
  for (const DelegateReport& delegate : measured.placement.delegates) {
    const uint64_t ns = TimeOf(measured.delegate_ns, delegate.name);
    delegates.push_back({{"name", delegate.name},
                         {"nodes", delegate.nodes},
                         {"partitions", delegate.partitions},
                         {"multiply_adds", delegate.multiply_adds},
                         {"time_ns", ns},
                         {"time_share", static_cast<double>(ns) / whole}});
  }
  return {{"model", options.model},
          {"runs", options.runs},
          {"warmup", options.warmup},
          {"inputs", std::move(inputs)},
          {"open_ns", measured.open_ns},
          {"build_ns", measured.build_ns},
          {"prepare_ns", measured.prepare_ns},
          {"first_run_ns", measured.first_ns},
          {"latency_ns", ToJson(measured.latency)},
          {"runs_per_second", RunsPerSecond(measured)},
          {"memory_before_bytes", measured.memory_before},
          {"memory_peak_bytes", measured.memory_peak},
          {"multiply_adds", measured.placement.multiply_adds},
          {"delegates", std::move(delegates)}};
}

void PrintReport(const std::vector<TensorInfo>& infos, const Measured& measured, const Terminal& terminal) {
  for (size_t i = 0; i < infos.size(); ++i)
    Print("  {:<10}  {} {}\n", i == 0 ? "input" : "", infos[i].name, TypeText(measured.bound.inputs[i].tensor));
  Print("  load        {}: delegates {}, model {}, shapes {}\n",
        DurationText(measured.open_ns + measured.build_ns + measured.prepare_ns), DurationText(measured.open_ns),
        DurationText(measured.build_ns), DurationText(measured.prepare_ns));
  Print("  first run   {}\n", DurationText(measured.first_ns));
  const Latency& latency = measured.latency;
  Print("  latency     min {}, p50 {}, p90 {}, p99 {}, max {}\n", DurationText(latency.min), DurationText(latency.p50),
        DurationText(latency.p90), DurationText(latency.p99), DurationText(latency.max));
  Print("  throughput  {} runs/s\n", NumberText(RunsPerSecond(measured)));
  Print("  memory      {} peak, {} before the model\n\n", BytesText(measured.memory_peak),
        BytesText(measured.memory_before));
  Table table({{"delegate"},
               {"nodes", Align::kRight},
               {"partitions", Align::kRight},
               {"multiply-adds", Align::kRight},
               {"time", Align::kRight},
               {"share", Align::kRight}});
  for (const DelegateReport& delegate : measured.placement.delegates) {
    const uint64_t ns = TimeOf(measured.delegate_ns, delegate.name);
    table.AddRow({delegate.name, CountText(delegate.nodes), CountText(delegate.partitions),
                  CountText(delegate.multiply_adds), DurationText(ns), ShareText(ns, TimeOfAll(measured))});
  }
  Print("{}", table.Text(terminal, "  "));
}

int RunBench(BenchOptions options) {
  int exit_status = kDone;
  Stopwatch watch;
  if (options.threads > 0) {
    const std::optional<Context> context = options.context.Read(exit_status);
    if (!context) return exit_status;
    Result<std::vector<std::string>> settings = ThreadSettings(*context, options.threads);
    if (!settings.ok()) return Fail(Stage::kDelegates, settings.status());
    options.context.settings.insert(options.context.settings.end(), settings->begin(), settings->end());
  }
  Measured measured;
  watch.Lap();
  const std::optional<Context> context = options.context.Open(exit_status);
  if (!context) return exit_status;
  measured.open_ns = watch.Lap();
  measured.memory_before = PeakMemory();
  watch.Lap();
  Model model;
  Status status = model.Build(options.model, *context);
  measured.build_ns = watch.Lap();
  if (!status.ok()) return Fail(Stage::kModel, status);
  status = RequireTensors(model);
  if (!status.ok()) return Fail(Stage::kSetup, status);
  Result<BoundInputs> bound = BindInputs(model.inputs(), options.inputs, options.shapes, options.seed);
  if (!bound.ok()) return Fail(Stage::kSetup, bound.status());
  measured.bound = std::move(bound).value();
  const std::string& assumed = measured.bound.assumed;
  PrintAssumed(assumed);
  std::vector<Shape> shapes;
  for (const BoundInput& input : measured.bound.inputs) shapes.push_back(input.tensor.shape());

  watch.Lap();
  Result<Session> session = model.CreateSession();
  if (!session.ok()) return Fail(Stage::kModel, session.status());
  status = session->Resize(shapes);
  measured.prepare_ns = watch.Lap();
  if (!status.ok()) return Fail(Stage::kModel, WithAssumed(std::move(status), assumed));
  status = TimeRuns(*session, options, measured);
  if (!status.ok()) return Fail(Stage::kRun, WithAssumed(std::move(status), assumed));
  measured.memory_peak = PeakMemory();
  Result<PlacementReport> placement = session->Placement();
  if (!placement.ok()) return Fail(Stage::kRun, placement.status());
  measured.placement = std::move(placement).value();

  if (options.json) {
    PrintJson(JsonOf(options, model.inputs(), measured));
  } else {
    PrintReport(model.inputs(), measured, TerminalOf(stdout));
  }
  return kDone;
}

}  // namespace

Command MakeBenchCommand(CLI::App& app) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App* syntax = app.add_subcommand("bench", "Measure load time, latency, memory and the time of each delegate");
  AddModel(*syntax, options->model);
  options->context.AddTo(*syntax);
  syntax->add_option("--threads", options->threads, "Threads of the CPU and of each delegate with such an option")
      ->check(CLI::Range(1U, 1024U))
      ->type_name("N");
  AddRuns(*syntax, options->runs);
  syntax->add_option("--warmup", options->warmup, "Warm-up runs before the timed ones")
      ->capture_default_str()
      ->check(CLI::Range(0U, 1000000U))
      ->type_name("N");
  AddInputs(*syntax, options->inputs, options->seed);
  AddShapes(*syntax, options->shapes);
  AddJson(*syntax, options->json);
  SetExample(*syntax, "deputy bench model.onnx --config default.yaml --threads 2 --runs 200");
  return {syntax, [options] { return RunBench(*options); }};
}

}  // namespace deputy::cli
