// deputy bench: the times of loading and running a model, its memory, and the time of each delegate.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <barrier>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.hpp"
#include "cli/exit_code.hpp"
#include "cli/inputs/model_inputs.hpp"
#include "cli/measure/timing.hpp"
#include "cli/report/json_report.hpp"
#include "cli/report/operator_times.hpp"
#include "cli/report/shape_text.hpp"
#include "cli/terminal/progress.hpp"
#include "cli/terminal/quantity.hpp"
#include "cli/terminal/table.hpp"
#include "cli/terminal/terminal.hpp"
#include "cli/thread.hpp"
#include "deputy/model.hpp"
#include "deputy/output_file.hpp"

namespace deputy::cli {
namespace {

// Timing every step costs time itself, so the times of delegates are measured in separate runs.
constexpr uint64_t kMostProfiledRuns = 10;
constexpr double kLeastPercent = 0.001;
// Steps overlap where a run takes less than so much of their sum.
constexpr double kOverlapShown = 0.95;

struct BenchOptions {
  std::string model, csv, duration, timeout;  // empty: none
  ContextOptions context;
  InputArguments inputs;
  std::vector<std::string> shapes;
  std::vector<double> percentiles = {50, 90, 95, 99};
  std::vector<std::string> fail_above;  // "p99=10ms"
  uint32_t threads = 0, sessions = 1, in_flight = 1, runs = 50, warmup = 5;
  bool runs_given = false;
  uint64_t seed = 1;
  size_t top = 20;
  bool per_operator = false, json = false;
};

// --fail-above: the largest latency that is accepted.
struct LatencyLimit {
  std::string name;  // "min", "mean", "max", "p99"
  double percent = 0;
  uint64_t limit_ns = 0;
  uint64_t value_ns = 0;  // measured

  bool passed() const { return value_ns <= limit_ns; }
};

Result<std::vector<LatencyLimit>> ParseLimits(const std::vector<std::string>& arguments) {
  std::vector<LatencyLimit> limits;
  for (const std::string& argument : arguments) {
    LatencyLimit& limit = limits.emplace_back();
    const size_t equals = argument.find('=');
    limit.name = argument.substr(0, equals);
    if (limit.name != "min" && limit.name != "mean" && limit.name != "max") {
      const char *const begin = limit.name.data() + 1, *const end = limit.name.data() + limit.name.size();
      const bool is_percentile = limit.name.size() > 1 && limit.name[0] == 'p' &&
                                 std::from_chars(begin, end, limit.percent, std::chars_format::fixed).ptr == end &&
                                 limit.percent >= kLeastPercent && limit.percent <= 100;
      if (!is_percentile)
        return Status(StatusCode::kInvalidArgument,
                      fmt::format("'{}' is not min, mean, max or a percentile from p{} to p100, such as p99",
                                  limit.name, kLeastPercent));
    }
    if (equals == std::string::npos)
      return Status(StatusCode::kInvalidArgument, fmt::format("'{0}' has no limit; write {0}=10ms", argument));
    const Result<std::chrono::nanoseconds> most = ParseDuration(argument.substr(equals + 1));
    if (!most.ok()) return Status(most.status().code(), fmt::format("{}: {}", limit.name, most.status().message()));
    limit.limit_ns = static_cast<uint64_t>(most->count());
  }
  return limits;
}

// A timed run: nanoseconds since the first one of all sessions began.
struct TimedRun {
  uint32_t session = 0;
  uint64_t start_ns = 0, ns = 0;
};

struct Measured {
  uint64_t prepare_ns = 0;
  FirstRun first;
  uint64_t memory_peak = 0;  // bytes
  std::vector<TimedRun> runs;
  uint64_t duration_ns = 0;    // from the begin of the first to the end of the last
  double sequential_rate = 0;  // runs per second, one at a time; 0: not measured
  Latency latency;
  DelegateTimes delegate_ns;     // per profiled run
  uint64_t profiled_run_ns = 0;  // less than the sum of these where steps overlap
  OperatorTimes operators;
  PlacementReport placement;

  std::vector<uint64_t> run_ns() const {
    std::vector<uint64_t> all;
    for (const TimedRun& run : runs) all.push_back(run.ns);
    return all;
  }
};

void FillIn(std::vector<LatencyLimit>& limits, const Measured& measured) {
  const std::vector<uint64_t> run_ns = measured.run_ns();
  for (LatencyLimit& limit : limits)
    limit.value_ns = limit.name == "min"    ? measured.latency.min
                     : limit.name == "max"  ? measured.latency.max
                     : limit.name == "mean" ? static_cast<uint64_t>(measured.latency.mean)
                                            : PercentileOf(run_ns, limit.percent);
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

// When a session has run often enough.
struct Limit {
  uint32_t runs = 0;                     // at least
  std::chrono::nanoseconds duration{0};  // at least

  bool reached(uint32_t done, std::chrono::nanoseconds elapsed) const { return done >= runs && elapsed >= duration; }
};

// One session on its thread.
struct Runner {
  Session session;
  std::vector<Tensor> outputs;
  std::vector<TimedRun> runs;
  Status status;

  using Clock = std::chrono::steady_clock;

  Status WarmUp(const std::vector<Tensor>& inputs, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) DEPUTY_RETURN_IF_ERROR(session.Predict(inputs, &outputs));
    return {};
  }

  // `failed` ends the runs of all sessions.
  void Run(const std::vector<Tensor>& inputs, uint32_t number, const Limit& limit, Clock::time_point begin,
           std::atomic<bool>& failed) {
    const auto since = [&](Clock::time_point time) {
      return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(time - begin).count());
    };
    runs.reserve(limit.runs);
    do {
      const Clock::time_point start = Clock::now();
      status = session.Predict(inputs, &outputs);
      const Clock::time_point end = Clock::now();
      if (!status.ok()) failed = true;
      if (failed) return;
      runs.push_back({number, since(start), since(end) - since(start)});
    } while (!limit.reached(static_cast<uint32_t>(runs.size()), Clock::now() - begin));
  }
};

// The timed runs of all sessions, which begin together; one session runs in this thread.
Status RunSessions(std::vector<Runner>& runners, const std::vector<Tensor>& inputs, uint32_t warmup,
                   const Limit& limit) {
  std::atomic<bool> failed{false};
  if (runners.size() == 1) {
    DEPUTY_RETURN_IF_ERROR(runners.front().WarmUp(inputs, warmup));
    runners.front().Run(inputs, 0, limit, Runner::Clock::now(), failed);
    return runners.front().status;
  }
  Runner::Clock::time_point begin;
  std::barrier start(static_cast<std::ptrdiff_t>(runners.size()), [&]() noexcept { begin = Runner::Clock::now(); });
  DEPUTY_RETURN_IF_ERROR(RunOnThreads(runners.size(), [&](size_t i) {
    Runner& runner = runners[i];
    runner.status = runner.WarmUp(inputs, i == 0 ? warmup : warmup + 1);  // the first one has run already
    if (!runner.status.ok()) failed = true;
    start.arrive_and_wait();
    if (!failed) runner.Run(inputs, static_cast<uint32_t>(i), limit, begin, failed);
  }));
  for (const Runner& runner : runners) DEPUTY_RETURN_IF_ERROR(runner.status);
  return {};
}

double RunsPerSecond(const Measured& measured) {
  return static_cast<double>(measured.runs.size()) * 1e9 /
         static_cast<double>(std::max<uint64_t>(1, measured.duration_ns));
}

// Timed requests of one session, each of which is submitted again when it has ended, until the limit is reached.
class RequestStream {
 public:
  RequestStream(Session& session, const Limit& limit) : session_(session), limit_(limit) { runs_.reserve(limit.runs); }

  // The first failure ends the stream.
  Status Run(const std::vector<Tensor>& inputs, uint32_t in_flight) {
    begin_ = Clock::now();
    const uint32_t first = limit_.duration.count() == 0 ? std::min(in_flight, limit_.runs) : in_flight;
    submitted_ = in_flight_ = first;
    for (uint32_t i = 0; i < first; ++i) Submit(inputs, {});
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [&] { return in_flight_ == 0; });
    return std::move(status_);
  }
  std::vector<TimedRun>& runs() { return runs_; }
  uint64_t duration_ns() const { return duration_ns_; }

 private:
  using Clock = std::chrono::steady_clock;

  void Submit(std::vector<Tensor> inputs, std::vector<Tensor> outputs) {
    const Result<uint64_t> number = session_.PredictAsync(
        std::move(inputs), [this](PredictResult&& result) { Ended(std::move(result)); }, {std::move(outputs)});
    if (!number.ok()) End(number.status());
  }
  void Ended(PredictResult&& result) {
    if (!result.status.ok()) return End(std::move(result.status));
    if (first_ns_ == 0) first_ns_ = result.submitted_ns;
    runs_.push_back({0, result.submitted_ns - first_ns_, result.ended_ns - result.submitted_ns});
    duration_ns_ = result.ended_ns - first_ns_;
    if (limit_.reached(submitted_, Clock::now() - begin_) || HasFailed()) return End({});
    ++submitted_;
    Submit(std::move(result.inputs), std::move(result.outputs));
  }
  bool HasFailed() {
    const std::lock_guard lock(mutex_);
    return !status_.ok();
  }
  void End(Status status) {
    const std::lock_guard lock(mutex_);
    if (status_.ok()) status_ = std::move(status);
    if (--in_flight_ == 0) ended_.notify_one();
  }

  Session& session_;
  const Limit limit_;
  Clock::time_point begin_;
  uint64_t first_ns_ = 0, duration_ns_ = 0;
  uint32_t submitted_ = 0;
  std::vector<TimedRun> runs_;
  std::mutex mutex_;
  std::condition_variable ended_;
  uint32_t in_flight_ = 0;
  Status status_;
};

// The timed runs of one session with requests in flight. They warm up as well: each has memory of its own.
Status RunInFlight(Session& session, const std::vector<Tensor>& inputs, const BenchOptions& options, const Limit& limit,
                   Measured& measured) {
  DEPUTY_RETURN_IF_ERROR(session.SetInFlight(options.in_flight));
  RequestStream warm(session, {options.in_flight * (options.warmup + 1), {}});
  DEPUTY_RETURN_IF_ERROR(warm.Run(inputs, options.in_flight));
  RequestStream timed(session, limit);
  DEPUTY_RETURN_IF_ERROR(timed.Run(inputs, options.in_flight));
  measured.runs = std::move(timed.runs());
  measured.duration_ns = timed.duration_ns();
  return {};
}

Status TimeDelegates(Session& session, const std::vector<Tensor>& inputs, const BenchOptions& options,
                     Measured& measured) {
  std::vector<Tensor> outputs;
  session.EnableProfiling(true);
  session.EnableEvents(options.per_operator);
  const uint64_t runs = std::min<uint64_t>(measured.runs.size(), kMostProfiledRuns);
  for (uint64_t i = 0; i < runs; ++i) {
    DEPUTY_RETURN_IF_ERROR(session.Predict(inputs, &outputs));
    AddTimes(measured.delegate_ns, session.statistics().delegate_ns);
    measured.profiled_run_ns += session.statistics().total_ns;
    if (options.per_operator) measured.operators.Add(session.events(), measured.placement);
  }
  for (auto& [name, ns] : measured.delegate_ns) ns /= runs;
  measured.profiled_run_ns /= runs;
  return {};
}

// `first`: a session that is prepared.
Status Measure(const LoadedModel& loaded, Session first, const BenchOptions& options, std::chrono::nanoseconds duration,
               std::optional<std::chrono::nanoseconds> timeout, Measured& measured) {
  const std::vector<Tensor> inputs = loaded.tensors();
  std::vector<Runner> runners(options.sessions);
  runners.front().session = std::move(first);
  if (timeout) runners.front().session.SetTimeout(*timeout);
  ShowProgress("first run");
  const FirstRunWatch watch;
  DEPUTY_RETURN_IF_ERROR(runners.front().session.Predict(inputs, &runners.front().outputs));
  measured.first = watch.Stop();
  for (uint32_t i = 1; i < options.sessions; ++i) {
    DEPUTY_ASSIGN_OR_RETURN(runners[i].session, loaded.model.CreateSession());
    if (timeout) runners[i].session.SetTimeout(*timeout);
  }
  const bool by_time = duration.count() > 0;
  const Limit limit{by_time && !options.runs_given ? 1 : options.runs, duration};
  ShowProgress(fmt::format("measuring {}{}", by_time ? "for " + options.duration : Plural(options.runs, "run"),
                           options.sessions == 1 ? "" : fmt::format(" in each of {} sessions", options.sessions)));
  DEPUTY_RETURN_IF_ERROR(RunSessions(runners, inputs, options.warmup, limit));
  for (const Runner& runner : runners) {
    measured.runs.insert(measured.runs.end(), runner.runs.begin(), runner.runs.end());
    measured.duration_ns = std::max(measured.duration_ns, runner.runs.back().start_ns + runner.runs.back().ns);
  }
  if (options.in_flight > 1) {
    measured.sequential_rate = RunsPerSecond(measured);
    ShowProgress(fmt::format("measuring with {} requests in flight", options.in_flight));
    DEPUTY_RETURN_IF_ERROR(RunInFlight(runners.front().session, inputs, options, limit, measured));
  }
  measured.latency = SummarizeRuns(measured.run_ns());
  DEPUTY_ASSIGN_OR_RETURN(measured.placement, runners.front().session.Placement());
  DEPUTY_RETURN_IF_ERROR(TimeDelegates(runners.front().session, inputs, options, measured));
  ClearProgress();
  measured.memory_peak = PeakMemory();
  return {};
}

uint64_t TimeOfAll(const Measured& measured) {
  uint64_t sum = 0;
  for (const auto& [name, ns] : measured.delegate_ns) sum += ns;
  return sum;
}

std::string PercentileName(double percent) { return fmt::format("p{}", percent); }

Json JsonOf(const BenchOptions& options, const LoadedModel& loaded, const Measured& measured,
            const std::vector<LatencyLimit>& limits) {
  Json inputs = Json::array(), delegates = Json::array();
  const std::vector<TensorInfo>& infos = loaded.model.inputs();
  for (size_t i = 0; i < infos.size(); ++i) {
    const Tensor& tensor = loaded.bound.inputs[i].tensor;
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
  Json latency = ToJson(measured.latency);
  for (const double percent : options.percentiles)
    latency[PercentileName(percent)] = PercentileOf(measured.run_ns(), percent);
  Json json = {{"model", options.model},
               {"runs", measured.runs.size()},
               {"warmup", options.warmup},
               {"sessions", options.sessions},
               {"in_flight", options.in_flight},
               {"inputs", std::move(inputs)},
               {"open_ns", loaded.times.open_ns},
               {"build_ns", loaded.times.build_ns},
               {"prepare_ns", measured.prepare_ns},
               {"first_run_ns", measured.first.ns},
               {"first_run",
                {{"compiled_partitions", measured.first.compiled},
                 {"verified_partitions", measured.first.verified},
                 {"measured_placements", measured.first.measured},
                 {"page_faults", measured.first.page_faults}}},
               {"duration_ns", measured.duration_ns},
               {"latency_ns", std::move(latency)},
               {"runs_per_second", RunsPerSecond(measured)},
               {"profiled_run_ns", measured.profiled_run_ns},
               {"memory_before_bytes", loaded.times.memory_before_bytes},
               {"memory_peak_bytes", measured.memory_peak},
               {"multiply_adds", measured.placement.multiply_adds},
               {"delegates", std::move(delegates)}};
  if (options.in_flight > 1) json["sequential_runs_per_second"] = measured.sequential_rate;
  if (options.per_operator) json["operators"] = measured.operators.ToJson();
  if (!limits.empty()) json["limits"] = Json::array();
  for (const LatencyLimit& limit : limits)
    json["limits"].push_back(
        {{"name", limit.name}, {"limit_ns", limit.limit_ns}, {"value_ns", limit.value_ns}, {"passed", limit.passed()}});
  return json;
}

void PrintReport(const BenchOptions& options, const LoadedModel& loaded, const Measured& measured,
                 const Terminal& terminal) {
  const std::vector<TensorInfo>& infos = loaded.model.inputs();
  const LoadTimes& times = loaded.times;
  KeyTable head;
  for (size_t i = 0; i < infos.size(); ++i)
    head.Add(i == 0 ? "input" : "", fmt::format("{} {}", infos[i].name, TypeText(loaded.bound.inputs[i].tensor)));
  head.Add("load",
           fmt::format("{}: delegates {}, model {}, shapes {}",
                       DurationText(times.open_ns + times.build_ns + measured.prepare_ns), DurationText(times.open_ns),
                       DurationText(times.build_ns), DurationText(measured.prepare_ns)));
  const std::string cold = ColdText(measured.first);
  head.Add("first run", DurationText(measured.first.ns) + (cold.empty() ? "" : ", " + cold));
  head.Add("runs", fmt::format("{} in {}{}", measured.runs.size(), DurationText(measured.duration_ns),
                               options.sessions == 1 ? "" : ", " + Plural(options.sessions, "session")));
  std::string latency = "min " + DurationText(measured.latency.min);
  for (const double percent : options.percentiles)
    latency += fmt::format(", {} {}", PercentileName(percent), DurationText(PercentileOf(measured.run_ns(), percent)));
  head.Add("latency", latency + ", max " + DurationText(measured.latency.max));
  const auto rate = [](double runs) { return fmt::format("{:.{}f} runs/s", runs, runs < 100 ? 1 : 0); };
  std::string throughput = rate(RunsPerSecond(measured));
  if (options.in_flight > 1)
    throughput += fmt::format(" with {} requests in flight, {:.2f} of {} one at a time", options.in_flight,
                              RunsPerSecond(measured) / measured.sequential_rate, rate(measured.sequential_rate));
  head.Add("throughput", throughput);
  const double overlap =
      static_cast<double>(measured.profiled_run_ns) / static_cast<double>(std::max<uint64_t>(1, TimeOfAll(measured)));
  if (overlap < kOverlapShown) head.Add("overlap", fmt::format("a run takes {:.2f} of the sum of its steps", overlap));
  head.Add("memory", fmt::format("{} peak, {} before the model", BytesText(measured.memory_peak),
                                 BytesText(times.memory_before_bytes)));
  Table table({{"delegate"},
               {"nodes", Align::kRight, Fit::kMiddle, 1},
               {"partitions", Align::kRight, Fit::kMiddle, 3},
               {"multiply-adds", Align::kRight, Fit::kMiddle, 2},
               {"time", Align::kRight},
               {"share", Align::kRight}});
  for (const DelegateReport& delegate : measured.placement.delegates) {
    const uint64_t ns = TimeOf(measured.delegate_ns, delegate.name);
    table.AddRow({delegate.name, CountText(delegate.nodes), CountText(delegate.partitions),
                  CountText(delegate.multiply_adds), DurationText(ns), ShareText(ns, TimeOfAll(measured))});
  }
  Print("{}\n{}", head.Text(terminal, "  "), table.Text(terminal, "  "));
  if (options.per_operator) Print("\n{}", measured.operators.Text(options.top, terminal));
}

Status WriteCsv(const std::string& path, const Measured& measured) {
  std::string text = "session,run,start_ns,latency_ns\n";
  std::map<uint32_t, size_t> numbers;
  for (const TimedRun& run : measured.runs)
    text += fmt::format("{},{},{},{}\n", run.session + 1, ++numbers[run.session], run.start_ns, run.ns);
  return WriteOutputFile(path, text);
}

int RunBench(BenchOptions options) {
  int exit_status = kDone;
  Result<std::chrono::nanoseconds> duration = std::chrono::nanoseconds(0);
  if (!options.duration.empty()) duration = ParseDuration(options.duration);
  if (!duration.ok()) return FailUsage("--duration: " + duration.status().message());
  const Result<std::optional<std::chrono::nanoseconds>> timeout = ParseTimeout(options.timeout);
  if (!timeout.ok()) return FailUsage(timeout.status().message());
  Result<std::vector<LatencyLimit>> limits = ParseLimits(options.fail_above);
  if (!limits.ok()) return FailUsage("--fail-above: " + limits.status().message());
  if (options.threads > 0) {
    const std::optional<Context> context = options.context.Read(exit_status);
    if (!context) return exit_status;
    Result<std::vector<std::string>> settings = ThreadSettings(*context, options.threads);
    if (!settings.ok()) return Fail(Stage::kDelegates, settings.status());
    options.context.settings.insert(options.context.settings.end(), settings->begin(), settings->end());
  }
  const std::optional<LoadedModel> loaded =
      LoadModel(options.model, options.context, options.inputs, options.shapes, options.seed, exit_status);
  if (!loaded) return exit_status;
  Measured measured;
  Stopwatch watch;
  std::optional<Session> session = OpenSession(*loaded, exit_status);
  if (!session) return exit_status;
  measured.prepare_ns = watch.Lap();
  Status status = Measure(*loaded, *std::move(session), options, *duration, *timeout, measured);
  if (!status.ok()) return Fail(Stage::kRun, WithAssumed(std::move(status), loaded->bound.assumed));
  FillIn(*limits, measured);
  if (!options.csv.empty()) {
    status = WriteCsv(options.csv, measured);
    if (!status.ok()) return Fail(Stage::kRun, status);
  }
  if (options.json) {
    PrintJson(JsonOf(options, *loaded, measured, *limits));
  } else {
    PrintReport(options, *loaded, measured, TerminalOf(stdout));
  }
  for (const LatencyLimit& limit : *limits)
    if (!limit.passed())
      exit_status = FailNo(fmt::format("{}: {} is {}, above {}", options.model, limit.name,
                                       DurationText(limit.value_ns), DurationText(limit.limit_ns)));
  return exit_status;
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
  syntax
      ->add_option("--duration", options->duration,
                   "Run for this time instead of a number of runs; with --runs, for the longer of both")
      ->type_name("10s");
  AddTimeout(*syntax, options->timeout);
  CLI::Option* const sessions =
      syntax->add_option("--sessions", options->sessions, "Concurrent sessions, each on its own thread")
          ->capture_default_str()
          ->check(CLI::Range(1U, 1024U))
          ->type_name("N");
  syntax
      ->add_option("--in-flight", options->in_flight,
                   "Requests of one session in flight at once, after as many runs one at a time")
      ->capture_default_str()
      ->check(CLI::Range(1U, 1024U))
      ->excludes(sessions)
      ->type_name("N");
  syntax->add_option("--percentiles", options->percentiles, "Percentiles of latency to show")
      ->delimiter(',')
      ->default_str("50,90,95,99")
      ->check(CLI::Range(kLeastPercent, 100.0))
      ->allow_extra_args(false)
      ->type_name("P,...");
  AddRepeated(*syntax, "--fail-above", options->fail_above, "p99=10ms",
              "Exit status 1 if this latency (min, mean, max or a percentile) is larger");
  syntax->add_flag("--per-operator", options->per_operator, "Show the time of each operator as well");
  AddTop(*syntax, options->top);
  syntax->add_option("--csv", options->csv, "File for the time of every run")->type_name("FILE");
  AddInputs(*syntax, options->inputs, options->seed);
  AddShapes(*syntax, options->shapes);
  AddJson(*syntax, options->json);
  SetExample(*syntax, "deputy bench model.onnx --config default --threads 2 --runs 200");
  return {syntax, [options, syntax] {
            options->runs_given = syntax->count("--runs") > 0;
            return RunBench(*options);
          }};
}

}  // namespace deputy::cli
