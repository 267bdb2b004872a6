// The arguments of open, compile, context_create and execute beside the data: flags that are not known are refused;
// hints, priorities and precisions change no result beyond what they say; calls can be cancelled; constants can be read
// in pieces.
#include <atomic>
#include <thread>

#include "cases/pieces.hpp"
#include "concurrency.hpp"
#include "probing/subject.hpp"
#include "probing/values.hpp"
#include "stopped_run.hpp"
#include "test.hpp"
#include "threads.hpp"

namespace deputy::conformance {
namespace {

using Cases = std::vector<Case>;

constexpr uint32_t kUnknownFlags[] = {1u << 20, 1u << 31};

void ExpectRefused(TestRun& run, const std::string& function, const Outcome& outcome) {
  if (outcome.code == DEPUTY_INVALID_ARGUMENT) return run.Passed(function);
  run.Failed(function,
             "an unknown bit of flags is not refused as an invalid argument, but answered with: " + outcome.ToString());
}

void CheckFlags(TestRun& run, const Cases& cases) {
  const OpenedCase opened = OpenAnyCase(run, cases);
  if (!opened.compiled) return;
  const Compiled& compiled = *opened.compiled;
  for (const uint32_t flag : kUnknownFlags) {
    Outcome outcome;
    std::unique_ptr<Instance> other = Instance::Open(*opened.plugin, opened.instance->delegate(),
                                                     run.settings().options, &outcome, "unknown flag", flag);
    ExpectRefused(run, "open", outcome);
    other.reset();
    Answer refusal;
    if (const std::optional<Claim> claim = opened.instance->ClaimAll(compiled.shown->graph, &refusal)) {
      CompileSettings settings;
      settings.flags = flag;
      (void)opened.instance->Compile(compiled.shown->graph, *claim, &outcome, settings);
      ExpectRefused(run, "compile", outcome);
    }
    std::string why_not;
    const Outcome context = compiled.executable->TryContext({flag, 0});
    ExpectRefused(run, "context_create", context);
    Binding binding(*compiled.shown, compiled.claim, Flush::kEnd, kPoison);
    RunSettings settings;
    settings.flags = flag;
    ExpectRefused(run, "execute", binding.Run(*compiled.context, settings));
    const std::string wrong =
        FaultOfRun(*compiled.shown, compiled.claim, *compiled.context, run.settings().computes_in);
    if (!wrong.empty()) run.Failed("execute", "after a run with an unknown flag: " + wrong);
  }
  run.NoFaults(*opened.plugin, "");
}

// The wider error of the two types.
deputy_dtype Narrower(deputy_dtype computes_in, deputy_dtype allowed) {
  return computes_in == DEPUTY_DTYPE_BFLOAT16 || allowed == DEPUTY_DTYPE_UNDEFINED ? computes_in : allowed;
}

std::string FaultWith(const RunSettings& settings, const Compiled& compiled, Context& context,
                      deputy_dtype computes_in) {
  Binding binding(*compiled.shown, compiled.claim, Flush::kEnd, kPoison);
  const Outcome outcome = binding.Run(context, settings);
  if (!outcome.ok()) return "execute failed: " + outcome.ToString();
  return FaultOfValues(*compiled.shown, compiled.claim, binding.Results(), computes_in);
}

void CheckHints(TestRun& run, const Cases& cases) {
  const OpenedCase opened = OpenAnyCase(run, cases);
  if (!opened.compiled) return;
  const Compiled& compiled = *opened.compiled;
  const deputy_dtype computes_in = run.settings().computes_in;
  const auto expect = [&](const std::string& subject, const std::string& wrong) {
    if (wrong.empty())
      run.Passed(subject);
    else
      run.Failed(subject, wrong);
  };
  for (uint32_t level = 0; level <= 4; ++level) {
    RunSettings settings;
    settings.power_level = level;
    expect("power_level=" + std::to_string(level), FaultWith(settings, compiled, *compiled.context, computes_in));
  }
  for (const deputy_dtype precision : {kF32, kF16, kBF16}) {
    RunSettings settings;
    settings.precision = precision;
    expect(std::string("precision=") + reference::NameOf(precision),
           FaultWith(settings, compiled, *compiled.context,
                     precision == kF32 ? computes_in : Narrower(computes_in, precision)));
  }
  expect("after the hints", FaultWith({}, compiled, *compiled.context, computes_in));
  for (const int32_t priority : {-7, 7, INT32_MAX, INT32_MIN}) {
    const std::string subject = "priority=" + std::to_string(priority);
    Answer refusal;
    Outcome outcome;
    const std::optional<Claim> claim = opened.instance->ClaimAll(compiled.shown->graph, &refusal);
    if (!claim) return run.Failed(subject, "the same node is refused the second time");
    CompileSettings settings;
    settings.priority = priority;
    const auto executable = opened.instance->Compile(compiled.shown->graph, *claim, &outcome, settings);
    std::string why_not = outcome.ToString();
    const auto context = executable == nullptr ? nullptr : executable->CreateContext(&why_not, {0, priority});
    if (context == nullptr)
      expect(subject, "a priority is a hint, and it fails: " + why_not);
    else
      expect(subject, FaultOfRun(*compiled.shown, *claim, *context, computes_in));
  }
  run.NoFaults(*opened.plugin, "");
}

// Element types to compute in, which compile may refuse and may not ignore.
void CheckPrecision(TestRun& run, const Cases& cases) {
  const OpenedCase opened = OpenAnyCase(run, cases);
  if (!opened.compiled) return;
  const std::optional<Case> full = WithFullMantissas(*opened.compiled->tested, run.settings().seed);
  const Case& tested = full ? *full : *opened.compiled->tested;
  const CaseGraph shown(tested);
  for (const deputy_dtype precision : {kF32, kF16}) {
    const std::string subject = std::string("precision=") + reference::NameOf(precision);
    Answer refusal;
    Outcome outcome;
    const std::optional<Claim> claim = opened.instance->ClaimAll(shown.graph, &refusal);
    if (!claim) continue;
    CompileSettings settings;
    settings.precision = precision;
    const auto executable = opened.instance->Compile(shown.graph, *claim, &outcome, settings);
    if (executable == nullptr && outcome.code == DEPUTY_NOT_SUPPORTED) continue;
    std::string why_not = outcome.ToString();
    const auto context = executable == nullptr ? nullptr : executable->CreateContext(&why_not);
    if (context == nullptr) {
      run.Failed(subject, "neither compiled nor refused as not supported: " + why_not);
      continue;
    }
    const std::string wrong = FaultOfRun(shown, *claim, *context, precision == kF32 ? DEPUTY_DTYPE_UNDEFINED : kF16);
    if (wrong.empty())
      run.Passed(subject);
    else
      run.Failed(subject, "compiled with the precision, which it could have refused: " + wrong);
  }
  run.NoFaults(*opened.plugin, "");
}

// Models of two nodes that the delegate takes, with the inner value an output.
std::vector<ModelCase> PairsTaken(Instance& instance, uint64_t seed) {
  constexpr size_t kMostPieces = 3;
  const auto is_taken = [&](const ModelCase& model) {
    const ModelGraph shown(model);
    Answer refusal;
    std::optional<Claim> claim = instance.ClaimAll(shown.graph, &refusal);
    if (claim) instance.Release(*claim);
    return claim.has_value();
  };
  std::vector<ModelCase> pairs;
  for (const std::vector<Ground>& kind : {Images(), Matrices()}) {
    std::vector<const Piece*> taken;
    for (const Piece& piece : AllPieces()) {
      const std::optional<ModelCase> alone = RowOf({&piece}, kind.front(), seed);
      if (taken.size() < kMostPieces && alone && alone->nodes.size() == 1 && is_taken(*alone)) taken.push_back(&piece);
    }
    for (const Piece* first : taken)
      for (const Piece* second : taken) {
        std::vector<ModelCase> models = PairsOf(*first, *second, kind.front(), seed);
        if (models.size() > 1 && is_taken(models[1])) pairs.push_back(std::move(models[1]));
      }
  }
  return pairs;
}

// What is wrong with the outputs where node 1 computes in float16, and node 0 in `first`.
std::string FaultOfMixed(const ModelGraph& shown, const ModelCase& model, const Claim& claim, Context& context,
                         deputy_dtype first) {
  Binding binding(shown, claim, Flush::kEnd, kPoison);
  const Outcome outcome = binding.Run(context);
  if (!outcome.ok()) return "execute failed: " + outcome.ToString();
  const std::vector<std::vector<uint8_t>> results = binding.Results();
  for (size_t i = 0; i < results.size(); ++i) {
    const deputy_value_id id = claim.outputs[i];
    const bool is_inner = id == model.nodes[0].outputs[0];
    const Tensor& expected = shown.ValueOf(id);
    const Tensor got = reference::Decode(expected.dtype, expected.dims, results[i].data());
    const std::string wrong =
        Difference(got, expected, shown.ToleranceIn(claim, id, is_inner ? first : Narrower(first, kF16)));
    if (!wrong.empty()) return std::string(is_inner ? "node 0: " : "node 1: ") + wrong;
  }
  return "";
}

// Precisions of some nodes of a partition: each is that of the node that it names.
void CheckNodePrecision(TestRun& run) {
  const auto [plugin, instance] = run.LoadAndOpen();
  if (instance == nullptr) return;
  const std::vector<ModelCase> pairs = PairsTaken(*instance, run.settings().seed);
  size_t compiled = 0;
  for (const ModelCase& model : pairs)
    for (const bool both : {false, true}) {
      const ModelGraph shown(model);
      const std::string subject =
          model.label + (both ? ": float16 for node 1, float32 for node 0" : ": float16 for node 1");
      Answer refusal;
      Outcome outcome;
      const std::optional<Claim> claim = instance->ClaimAll(shown.graph, &refusal);
      if (!claim) continue;
      CompileSettings settings;
      settings.of_nodes.push_back({1, kF16});
      if (both) settings.of_nodes.push_back({0, kF32});
      const auto executable = instance->Compile(shown.graph, *claim, &outcome, settings);
      if (executable == nullptr && outcome.code == DEPUTY_NOT_SUPPORTED) continue;
      ++compiled;
      std::string why_not = outcome.ToString();
      const auto context = executable == nullptr ? nullptr : executable->CreateContext(&why_not);
      const std::string wrong = context == nullptr
                                    ? "neither compiled nor refused as not supported: " + why_not
                                    : FaultOfMixed(shown, model, *claim, *context,
                                                   both ? DEPUTY_DTYPE_UNDEFINED : run.settings().computes_in);
      if (wrong.empty())
        run.Passed(subject);
      else
        run.Failed(subject, wrong);
    }
  if (pairs.empty())
    run.Skipped("it takes no two nodes of float32 together");
  else if (compiled == 0)
    run.Skipped("it refuses precisions of single nodes");
  run.NoFaults(*plugin, "");
}

// "" for a run that ended as it may after a call of cancel; those that ended early are counted.
std::string FaultOfCancelled(const Compiled& compiled, Binding& binding, const Outcome& outcome,
                             deputy_dtype computes_in, size_t* ended) {
  if (outcome.code == DEPUTY_CANCELLED) ++*ended;
  if (outcome.code == DEPUTY_CANCELLED) return "";
  if (!outcome.ok()) return "a run that was cancelled ends neither well nor as cancelled, but: " + outcome.ToString();
  return FaultOfValues(*compiled.shown, compiled.claim, binding.Results(), computes_in);
}

void CheckCancel(TestRun& run, const Cases& cases) {
  const OpenedCase opened = OpenAnyCase(run, cases);
  if (!opened.compiled) return;
  const Compiled& compiled = *opened.compiled;
  Context& context = *compiled.context;
  if (!context.can_cancel()) return run.Skipped("its runs cannot be cancelled");
  const deputy_dtype computes_in = run.settings().computes_in;
  const auto right = [&](const std::string& event) {
    const std::string wrong = FaultOfRun(*compiled.shown, compiled.claim, context, computes_in);
    if (!wrong.empty()) run.Failed(event, "the next run: " + wrong);
    return wrong.empty();
  };
  size_t ended = 0;
  Binding binding(*compiled.shown, compiled.claim, Flush::kEnd, kPoison);
  for (int i = 0; i < 3; ++i) {
    context.Cancel(context.next_run());
    binding.Assign(*compiled.shown, compiled.claim, kPoison);
    const std::string wrong = FaultOfCancelled(compiled, binding, binding.Run(context), computes_in, &ended);
    if (!wrong.empty()) return run.Failed("before the run begins", wrong);
    if (!right("before the run begins")) return;
  }
  // A run that stands in the host's parallel_for, and may hold locks there.
  binding.Assign(*compiled.shown, compiled.claim, kPoison);
  const StoppedRun held = RunStoppedAt(*opened.plugin, binding, context, Ending::kCancel, 1);
  if (!held.why_not.empty()) return run.Failed("while the run is under way", held.why_not);
  if (held.cancel_waits) return run.Failed("while the run is under way", kCancelWaits);
  const std::string fault = FaultOfCancelled(compiled, binding, held.outcome, computes_in, &ended);
  if (!fault.empty()) return run.Failed("while the run is under way", fault);
  if (!right("while the run is under way")) return;
  // A run that has ended is not cancelled, and neither is the one behind it.
  context.Cancel(context.next_run() - 1);
  if (!right("of a run that has ended")) return;
  for (int i = 0; i < 20; ++i) {
    std::atomic<bool> begun{false};
    const uint64_t number = context.next_run();
    Threads other;
    const bool started = other.Start([&] {
      while (!begun) std::this_thread::yield();
      context.Cancel(number);
    });
    if (!started) return run.Failed("while the run is under way", other.why_not());
    binding.Assign(*compiled.shown, compiled.claim, kPoison);
    begun = true;
    const Outcome outcome = binding.Run(context);
    other.Join();
    const std::string wrong = FaultOfCancelled(compiled, binding, outcome, computes_in, &ended);
    if (!wrong.empty()) return run.Failed("while the run is under way", wrong);
    if (!right("while the run is under way")) return;
  }
  if (ended == 0)
    run.Warn(
        "no run ended early of 24 that were cancelled, 3 of them before they began: the slot `cancel` has no visible "
        "effect (with the SDK's layer, Execute asks RunArgs::cancelled())");
  run.NoFaults(*opened.plugin, "");
}

void CheckControl(TestRun& run, const Cases& cases) {
  const OpenedCase opened = OpenAnyCase(run, cases);
  if (!opened.compiled) return;
  const deputy_graph& graph = opened.compiled->shown->graph;
  const auto compiled_with = [&](const CompileSettings& settings, deputy_code may_end, const std::string& subject) {
    Answer refusal;
    Outcome outcome;
    std::optional<Claim> claim = opened.instance->ClaimAll(graph, &refusal);
    if (!claim) return run.Failed(subject, "the same node is refused");
    const auto executable = opened.instance->Compile(graph, *claim, &outcome, settings);
    if (executable == nullptr && outcome.code != may_end)
      return run.Failed(subject, "compile ends with: " + outcome.ToString());
    run.Passed(subject);
  };
  CompileSettings cancelled, late;
  cancelled.cancelled = true;
  late.deadline_ns = 1;
  compiled_with(cancelled, DEPUTY_CANCELLED, "a compilation that was cancelled");
  compiled_with({}, DEPUTY_OK, "behind a compilation that was cancelled");
  compiled_with(late, DEPUTY_DEADLINE_EXCEEDED, "a compilation whose deadline has passed");
  compiled_with({}, DEPUTY_OK, "behind a compilation whose deadline had passed");
  const std::string wrong = FaultOfRun(*opened.compiled->shown, opened.compiled->claim, *opened.compiled->context,
                                       run.settings().computes_in);
  if (!wrong.empty()) run.Failed("an executable from before", wrong);
  run.NoFaults(*opened.plugin, "");
}

void CheckStreamed(TestRun& run, const Cases& cases) {
  constexpr size_t kMost = 24;
  const auto [plugin, instance] = run.LoadAndOpen();
  if (instance == nullptr) return;
  if ((instance->delegate()->flags & DEPUTY_DELEGATE_STREAMS_CONSTANTS) == 0)
    return run.Skipped("it takes constants with a pointer only");
  size_t tried = 0;
  for (const Case& tested : cases) {
    const bool any = std::any_of(tested.inputs.begin(), tested.inputs.end(), [](const Operand& input) {
      return input.present && input.constant && input.value.count() > 1;
    });
    if (!any || tried == kMost) continue;
    CaseGraph shown(tested);
    if (shown.expected.empty()) continue;
    shown.graph.StreamConstants();
    std::string why_not;
    const std::optional<Loaded> loaded = Load(*instance, shown, &why_not);
    if (!why_not.empty()) run.Failed(tested.name(), "with constants that are not resident: " + why_not);
    if (!loaded) continue;
    ++tried;
    const std::string wrong = FaultOfRuns(shown, loaded->claim, *loaded->context, run.settings().computes_in);
    if (wrong.empty())
      run.Passed(tested.name());
    else
      run.Failed(tested.name(), "with constants that are not resident: " + wrong);
  }
  if (tried == 0) run.Skipped("it takes no case with a constant");
  run.NoFaults(*plugin, "");
}

}  // namespace

std::vector<Test> CallTests(const std::vector<Case>& cases) {
  return {{"calls.flags", With(CheckFlags, cases)},         {"calls.hints", With(CheckHints, cases)},
          {"calls.precision", With(CheckPrecision, cases)}, {"calls.precision_of_nodes", CheckNodePrecision},
          {"calls.cancel", With(CheckCancel, cases)},       {"calls.control", With(CheckControl, cases)},
          {"calls.streamed", With(CheckStreamed, cases)}};
}

}  // namespace deputy::conformance
