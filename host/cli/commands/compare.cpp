// deputy compare: runs a model under several configurations side by side, times them and compares their outputs.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "cli/command.hpp"
#include "cli/exit_code.hpp"
#include "cli/inputs/model_inputs.hpp"
#include "cli/inputs/output_compare.hpp"
#include "cli/measure/timing.hpp"
#include "cli/messages.hpp"
#include "cli/report/json_report.hpp"
#include "cli/terminal/progress.hpp"
#include "cli/terminal/quantity.hpp"
#include "cli/terminal/table.hpp"
#include "cli/terminal/terminal.hpp"
#include "deputy/model.hpp"

namespace deputy::cli {
namespace {

// Runs of one configuration in a row, after one that is not timed; then the next configuration has its turn.
constexpr uint32_t kRunsInARow = 4;

struct CompareOptions {
  std::string model;
  InputArguments inputs;
  std::vector<std::string> configs, settings, shapes;
  ToleranceFlags tolerance;
  uint32_t runs = 40;
  uint64_t seed = 1;
  bool json = false;
};

struct OutputResult {
  std::string mismatch;  // of the first run that differed; empty: all runs match
  double max_difference = 0;
};

// A configuration of the comparison.
struct Candidate {
  std::string name;
  ContextOptions context;
  Model model;
  Session session;
  uint64_t load_ns = 0;
  std::vector<Tensor> outputs;
  std::vector<uint64_t> run_ns;
  Latency latency;
  std::vector<OutputResult> results;  // per output; empty for the reference
  PlacementReport placement;
  PartitionVerification wrong;  // the first wrong partition, if an output differs

  bool matches() const {
    return std::all_of(results.begin(), results.end(), [](const OutputResult& r) { return r.mismatch.empty(); });
  }
  size_t delegated_nodes() const { return placement.nodes.size() - placement.delegates.back().nodes; }
};

// The layers of an alternative: "default+npu.yaml", unless that is the name of a file.
std::vector<std::string> LayersOf(const std::string& config) {
  std::error_code ignored;
  if (std::filesystem::exists(config, ignored)) return {config};
  std::vector<std::string> layers;
  for (size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
    end = config.find('+', begin);
    layers.push_back(config.substr(begin, end == std::string::npos ? end : end - begin));
  }
  return layers;
}

ContextOptions With(ContextOptions context, const std::vector<std::string>& settings) {
  context.settings.insert(context.settings.end(), settings.begin(), settings.end());
  return context;
}

// The CPU alone, which is the reference; the configurations; and if there is only one, each of its delegates alone.
// Nothing if a configuration is refused.
std::vector<Candidate> CandidatesOf(const CompareOptions& options, int& exit_status) {
  std::vector<Candidate> candidates;
  const auto add = [&](const std::string& name, ContextOptions context) {
    candidates.emplace_back();
    candidates.back().name = name;
    candidates.back().context = std::move(context);
  };
  const auto context_of = [&](const std::string& config) {
    return ContextOptions{LayersOf(config), options.settings, {}};
  };
  const ContextOptions first = context_of(options.configs.front());
  const std::optional<Context> context = first.Read(exit_status);
  if (!context) return {};
  for (const std::string& config : options.configs)
    if (!context_of(config).Read(exit_status)) {
      PrintNote(
          fmt::format("'--config {}' is an alternative by itself; a layer below it is added by +, as in "
                      "--config default+{}",
                      config, config));
      return {};
    }
  const std::vector<DeviceInfo> delegates = context->ConfiguredDelegates();
  const auto settings_with = [&](const std::string& only) {
    std::vector<std::string> settings = {"plugins.auto=off", "fallback=cpu", "placement.policy=priority"};
    for (const DeviceInfo& delegate : delegates)
      settings.push_back(
          fmt::format("delegates.{}.{}", delegate.name, delegate.name == only ? "verify=never" : "enabled=false"));
    return settings;
  };
  add("CPU alone", With(first, settings_with("")));
  for (const std::string& config : options.configs) add(config, context_of(config));
  if (options.configs.size() == 1)
    for (const DeviceInfo& delegate : delegates)
      add(delegate.name + " alone", With(first, settings_with(delegate.name)));
  return candidates;
}

// Loads the model for every candidate, and prepares it for the inputs, which are bound by the first one. False: an
// error was reported.
bool LoadAll(const CompareOptions& options, std::vector<Candidate>& candidates, BoundInputs& bound, int& exit_status) {
  const auto fail = [&](Stage stage, const Status& status) {
    exit_status = Fail(stage, status);
    return false;
  };
  for (Candidate& candidate : candidates) {
    ShowProgress("load: " + candidate.name);
    Stopwatch watch;
    std::optional<Model> model =
        OpenModelFor(options.inputs, options.model, candidate.context, options.shapes, exit_status);
    if (!model) return false;
    candidate.model = *std::move(model);
    candidate.load_ns = watch.Lap();
  }
  const Model& first = candidates.front().model;
  Result<BoundInputs> made = BindInputs(first.inputs(), options.inputs, options.shapes, options.seed);
  if (!made.ok()) return fail(Stage::kSetup, made.status());
  bound = std::move(made).value();
  PrintAssumed(bound.assumed);
  std::vector<Shape> shapes;
  for (const BoundInput& input : bound.inputs) shapes.push_back(input.tensor.shape());
  for (Candidate& candidate : candidates) {
    Stopwatch watch;
    Result<Session> session = candidate.model.CreateSession();
    const Status status = session.ok() ? session->Resize(shapes) : session.status();
    if (!status.ok()) return fail(Stage::kModel, WithAssumed(Status(status).At(candidate.name), bound.assumed));
    candidate.session = std::move(session).value();
    candidate.load_ns += watch.Lap();
  }
  return true;
}

// With the tolerance for the delegates that have nodes of the candidate.
Status CompareOutputs(const Candidate& reference, Candidate& candidate, const ToleranceFlags& tolerance) {
  const std::vector<TensorInfo>& infos = reference.model.outputs();
  DEPUTY_ASSIGN_OR_RETURN(const ModelTraits traits, candidate.session.Traits());
  candidate.results.resize(infos.size());
  for (size_t i = 0; i < infos.size(); ++i) {
    const Comparison comparison = CompareTensors(candidate.outputs[i], reference.outputs[i],
                                                 ToleranceFor(tolerance, reference.outputs[i].dtype(), traits));
    OutputResult& result = candidate.results[i];
    result.max_difference = std::max(result.max_difference, comparison.max_difference);
    if (!comparison.ok && result.mismatch.empty()) result.mismatch = comparison.description;
  }
  return {};
}

// Runs all candidates in turns, so that what else the machine does meets them alike. Outputs are compared after each
// turn, which is after an odd number of runs and after an even one.
Status RunInTurns(const CompareOptions& options, const std::vector<Tensor>& inputs,
                  std::vector<Candidate>& candidates) {
  Candidate& reference = candidates.front();
  bool draws = false;
  for (uint32_t done = 0; done < options.runs; done += kRunsInARow) {
    const uint32_t timed = std::min(kRunsInARow, options.runs - done);
    for (Candidate& candidate : candidates) {
      ShowProgress(fmt::format("run {} of {}: {}", done + 1, options.runs, candidate.name));
      // The first run of all verifies and measures, if the configuration has it.
      const uint32_t untimed = done == 0 ? 2 : 1;
      for (uint32_t i = 0; i < untimed + timed; ++i) {
        Stopwatch watch;
        DEPUTY_RETURN_IF_ERROR(candidate.session.Predict(inputs, &candidate.outputs).At(candidate.name));
        if (i >= untimed) candidate.run_ns.push_back(watch.Lap());
      }
      if (&candidate == &reference) {
        DEPUTY_ASSIGN_OR_RETURN(const ModelTraits traits, reference.session.Traits());
        draws = !traits.drawing.empty();
      } else if (!draws) {
        DEPUTY_RETURN_IF_ERROR(CompareOutputs(reference, candidate, options.tolerance));
      }
    }
  }
  ClearProgress();
  for (Candidate& candidate : candidates) {
    candidate.latency = SummarizeRuns(candidate.run_ns);
    DEPUTY_ASSIGN_OR_RETURN(candidate.placement, candidate.session.Placement());
  }
  return {};
}

// The first wrong partition of a candidate whose outputs differ.
Status FindWrong(const CompareOptions& options, const std::vector<Tensor>& inputs, Candidate& candidate) {
  ShowProgress("search for wrong nodes: " + candidate.name);
  DEPUTY_ASSIGN_OR_RETURN(const std::vector<PartitionVerification> partitions,
                          candidate.model.Verify(inputs, {options.tolerance, ""}));
  ClearProgress();
  const auto found = std::find_if(partitions.begin(), partitions.end(), [](const PartitionVerification& partition) {
    return partition.result == VerificationResult::kWrong;
  });
  if (found != partitions.end()) candidate.wrong = *found;
  return {};
}

const Candidate& FastestOf(const std::vector<Candidate>& candidates) {
  const Candidate* fastest = &candidates.front();
  for (const Candidate& candidate : candidates)
    if (candidate.matches() && candidate.latency.p50 < fastest->latency.p50) fastest = &candidate;
  return *fastest;
}

double RatioTo(const Candidate& reference, const Candidate& candidate) {
  return static_cast<double>(candidate.latency.p50) / static_cast<double>(std::max<uint64_t>(1, reference.latency.p50));
}

std::string WrongText(const PartitionVerification& wrong) {
  if (wrong.partition.empty()) return "no partition differs by itself";
  if (wrong.wrong_nodes.empty()) return fmt::format("first wrong: the whole of {}", wrong.partition);
  return fmt::format("first wrong: {} in {}", WrongNodesText(wrong, wrong.wrong_nodes.front()), wrong.partition);
}

Json JsonOf(const CompareOptions& options, const std::vector<Candidate>& candidates) {
  Json rows = Json::array();
  for (const Candidate& candidate : candidates) {
    Json outputs = Json::array();
    for (size_t i = 0; i < candidate.results.size(); ++i)
      outputs.push_back({{"name", candidate.model.outputs()[i].name},
                         {"matches", candidate.results[i].mismatch.empty()},
                         {"max_difference", candidate.results[i].max_difference},
                         {"detail", candidate.results[i].mismatch}});
    rows.push_back({{"name", candidate.name},
                    {"config", Joined(candidate.context.configs, "+")},
                    {"settings", candidate.context.settings},
                    {"nodes", candidate.placement.nodes.size()},
                    {"delegated_nodes", candidate.delegated_nodes()},
                    {"summary", candidate.placement.summary},
                    {"load_ns", candidate.load_ns},
                    {"latency_ns", ToJson(candidate.latency)},
                    {"ratio", RatioTo(candidates.front(), candidate)},
                    {"matches", candidate.matches()},
                    {"outputs", std::move(outputs)},
                    {"wrong_partition", candidate.wrong.partition},
                    {"wrong_nodes", candidate.wrong.wrong_nodes}});
  }
  return {{"model", options.model},
          {"runs", options.runs},
          {"candidates", std::move(rows)},
          {"fastest", FastestOf(candidates).name}};
}

void PrintReport(const std::vector<Candidate>& candidates, const Terminal& terminal) {
  const Candidate& reference = candidates.front();
  Table table({{"configuration"},
               {"delegated", Align::kRight, Fit::kMiddle, 3},
               {"load", Align::kRight, Fit::kMiddle, 4},
               {"p50", Align::kRight},
               {"p90", Align::kRight, Fit::kMiddle, 2},
               {"ratio", Align::kRight},
               {"max |d|", Align::kRight, Fit::kMiddle, 1},
               {"outputs"}});
  for (const Candidate& candidate : candidates) {
    double difference = 0;
    for (const OutputResult& result : candidate.results) difference = std::max(difference, result.max_difference);
    const bool compared = !candidate.results.empty();
    const Shown verdict = !compared             ? Shown(&candidate == &reference ? "reference" : "not compared")
                          : candidate.matches() ? terminal.Paint(Paint::kGood, "match")
                                                : terminal.Paint(Paint::kBad, "mismatch");
    table.AddRow({candidate.name, fmt::format("{}/{}", candidate.delegated_nodes(), candidate.placement.nodes.size()),
                  DurationText(candidate.load_ns), DurationText(candidate.latency.p50),
                  DurationText(candidate.latency.p90), fmt::format("{:.2f}", RatioTo(reference, candidate)),
                  compared ? NumberText(difference) : "-", verdict});
  }
  Print("{}", table.Text(terminal, "  "));
  for (const Candidate& candidate : candidates) {
    if (candidate.matches()) continue;
    Print("\n  {}\n", candidate.name);
    const auto line = [&](const Shown& text) { Print("{}", Paragraph(terminal, "    ", text)); };
    for (size_t i = 0; i < candidate.results.size(); ++i)
      if (!candidate.results[i].mismatch.empty())
        line(Show("output '{}': {}", candidate.model.outputs()[i].name, candidate.results[i].mismatch));
    line(WrongText(candidate.wrong));
  }
  if (std::any_of(candidates.begin(), candidates.end(), [](const Candidate& c) { return !c.matches(); }))
    Print("\n{}", Paragraph(terminal, "", kToleranceHint));
  const Candidate& fastest = FastestOf(candidates);
  Print("\nfastest: {}", fastest.name);
  if (&fastest != &reference) Print(", {:.2f} of the CPU's time", RatioTo(reference, fastest));
  Print("\n");
}

int RunCompare(const CompareOptions& options) {
  PrintLogOnce();  // the configurations have the same plugins and the same warnings
  int exit_status = kDone;
  std::vector<Candidate> candidates = CandidatesOf(options, exit_status);
  if (candidates.empty()) return exit_status;
  BoundInputs bound;
  if (!LoadAll(options, candidates, bound, exit_status)) return exit_status;
  std::vector<Tensor> inputs;
  for (const BoundInput& input : bound.inputs) inputs.push_back(input.tensor);
  Status status = RunInTurns(options, inputs, candidates);
  for (Candidate& candidate : candidates)
    if (status.ok() && !candidate.matches()) status = FindWrong(options, inputs, candidate);
  if (!status.ok()) return Fail(Stage::kRun, WithAssumed(status, bound.assumed));

  if (options.json) {
    PrintJson(JsonOf(options, candidates));
  } else {
    PrintReport(candidates, TerminalOf(stdout));
  }
  const auto wrong =
      std::count_if(candidates.begin(), candidates.end(), [](const Candidate& c) { return !c.matches(); });
  if (wrong == 0) return kDone;
  return FailNo(
      fmt::format("the outputs of {} differ from the CPU's", Plural(static_cast<uint64_t>(wrong), "configuration")));
}

}  // namespace

Command MakeCompareCommand(CLI::App& app) {
  auto options = std::make_shared<CompareOptions>();
  CLI::App* syntax = app.add_subcommand("compare", "Time and check configurations, or all delegates, side by side");
  AddModel(*syntax, options->model);
  AddRepeated(*syntax, "--config", options->configs, "FILE",
              "Configuration to compare: a file or the name of a shipped one; layers of one are joined by +, as in "
              "default+npu.yaml; one alone is also compared with each of its delegates")
      ->required();
  AddSettings(*syntax, options->settings);
  AddInputs(*syntax, options->inputs, options->seed);
  AddShapes(*syntax, options->shapes);
  options->tolerance.AddTo(*syntax);
  AddRuns(*syntax, options->runs);
  AddJson(*syntax, options->json);
  SetExample(*syntax, "deputy compare model.onnx --config default --config npu-first");
  return {syntax, [options] { return RunCompare(*options); }};
}

}  // namespace deputy::cli
