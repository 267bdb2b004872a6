// Life cycle: objects created and destroyed in every order that the ABI allows, constant verdicts, and a process state
// that is unchanged afterwards.
#include <algorithm>
#include <map>

#include "case_run.hpp"
#include "plugin_file.hpp"
#include "runner.hpp"
#include "surroundings.hpp"
#include "test.hpp"

namespace deputy::conformance {
namespace {

// Runs a compiled case and compares its results with the oracle; "" when they are right.
std::string RunOnce(const TestRun& run, Compiled& compiled, Context& context) {
  return FaultOfRun(*compiled.shown, compiled.claim, context, run.settings().computes_in);
}

void CheckProbe(TestRun& run) {
  const std::unique_ptr<Plugin> plugin = run.Load();
  if (plugin == nullptr) return;
  const deputy_delegate* delegate = run.Delegate(*plugin);
  if (delegate == nullptr || delegate->probe == nullptr) return;
  const Surroundings before = Surroundings::Take();
  const size_t threads = ThreadCount();
  Outcome first;
  for (int i = 0; i < 3; ++i) {
    const Outcome outcome = plugin->Call("probe", [&] { return delegate->probe(delegate, plugin->host().table()); });
    if (i == 0) first = outcome;
    if (outcome.code != first.code)
      run.Failed("", "its answers differ: " + first.ToString() + "; then " + outcome.ToString());
  }
  const std::string changes = Surroundings::Take().ChangesSince(before);
  if (!changes.empty()) run.Failed("", "it changes " + changes);
  if (ThreadsBeyond(threads) != 0) run.Failed("", "it leaves threads behind");
  run.NoFaults(*plugin, "");
}

void CheckOpenClose(TestRun& run) {
  const std::unique_ptr<Plugin> plugin = run.Load();
  if (plugin == nullptr) return;
  for (int i = 0; i < 3; ++i)
    if (run.Open(*plugin) == nullptr) return;
  plugin->Shutdown();
  run.NoFaults(*plugin, "");
  run.CheckStatuses(*plugin);
}

void CheckTwoInstances(TestRun& run, const std::vector<Case>& cases) {
  const std::unique_ptr<Plugin> plugin = run.Load();
  if (plugin == nullptr) return;
  std::unique_ptr<Instance> first = run.Open(*plugin), second = run.Open(*plugin);
  if (first == nullptr || second == nullptr) return;
  std::optional<Compiled> one = CompileAnyCase(*first, cases), two = CompileAnyCase(*second, cases);
  if (one.has_value() != two.has_value()) return run.Failed("", "one of two instances takes nothing");
  if (!one) return run.Skipped("it takes no case");
  for (Compiled* compiled : {&*one, &*two}) {
    const std::string wrong = RunOnce(run, *compiled, *compiled->context);
    if (!wrong.empty()) run.Failed("", "two instances: " + wrong);
  }
  one.reset();
  first.reset();
  const std::string wrong = RunOnce(run, *two, *two->context);
  if (!wrong.empty()) run.Failed("", "after the other instance was closed: " + wrong);
  two.reset();
  second.reset();
  run.NoFaults(*plugin, "");
}

void CheckQueries(TestRun& run, const std::vector<Case>& cases) {
  constexpr int kPerOperator = 4;
  const std::unique_ptr<Plugin> plugin = run.Load();
  if (plugin == nullptr) return;
  const std::unique_ptr<Instance> instance = run.Open(*plugin), other = run.Open(*plugin);
  if (instance == nullptr || other == nullptr) return;
  std::map<std::string, int> asked;
  for (const Case& tested : cases) {
    if (++asked[tested.node.name()] > kPerOperator) continue;
    const CaseGraph shown(tested);
    if (shown.expected.empty()) continue;
    const std::vector<Answer> first = instance->Query(shown.graph), second = instance->Query(shown.graph);
    if (!(first == second)) run.Failed(tested.name(), "the second answer differs from the first");
    if (!(other->Query(shown.graph) == first)) run.Failed(tested.name(), "another instance answers otherwise");
    if (!run.NoFaults(*plugin, tested.name())) return;
  }
  // Nodes of other delegates are visible and get no verdict.
  deputy_graph graph;
  const deputy_value_id x = graph.AddValue("x", kF32, {2, 3});
  const deputy_value_id y = graph.AddValue("y", kF32, {2, 3});
  const deputy_value_id z = graph.AddValue("z", kF32, {2, 3});
  graph.AddInput(x);
  graph.AddOutput(z);
  reference::Node relu;
  relu.op_type = "Relu";
  relu.since_version = 6;
  graph.AddNode("mine", relu, {x}, {y});
  graph.mutable_node(graph.AddNode("another's", relu, {y}, {z})).offered = false;
  (void)instance->Query(graph);
  for (Claim& claim : instance->Propose(graph)) instance->Release(claim);
  run.NoFaults(*plugin, "a node of another delegate");
}

// The reason for each case, asked in this order, or in the reverse order.
Packed AnswersOf(TestRun& run, const std::vector<const Case*>& asked, bool reversed) {
  Packed answers;
  const auto [plugin, instance] = run.LoadAndOpen();
  if (instance == nullptr) return answers;
  std::vector<uint64_t> reasons(asked.size());
  for (size_t i = 0; i < asked.size(); ++i) {
    const size_t at = reversed ? asked.size() - 1 - i : i;
    const CaseGraph shown(*asked[at]);
    if (instance->proposes()) {
      std::vector<Claim> claims = instance->Propose(shown.graph);
      reasons[at] = claims.empty() ? DEPUTY_REASON_OTHER : DEPUTY_REASON_SUPPORTED;
      for (Claim& claim : claims) instance->Release(claim);
    } else if (!shown.expected.empty()) {
      reasons[at] = instance->Query(shown.graph)[0].reason;
    }
  }
  for (const uint64_t reason : reasons) answers.Put(reason);
  return answers;
}

// In two processes, so that the answers of one order cannot be remembered in the other.
void CheckOrder(TestRun& run, const std::vector<Case>& cases) {
  constexpr int kPerOperator = 16;
  std::map<std::string, int> count;
  std::vector<const Case*> asked;
  for (const Case& tested : cases)
    if (++count[tested.node.name()] <= kPerOperator) asked.push_back(&tested);
  const auto in_order = InOtherProcess(run, "", [&](TestRun& other) { return AnswersOf(other, asked, false); });
  if (!in_order || run.failures() != 0) return;
  const auto reversed = InOtherProcess(run, "", [&](TestRun& other) { return AnswersOf(other, asked, true); });
  if (!reversed || run.failures() != 0) return;
  Packed one(in_order->bytes()), two(reversed->bytes());
  for (const Case* tested : asked) {
    const auto first = static_cast<deputy_reason>(one.TakeNumber());
    const auto second = static_cast<deputy_reason>(two.TakeNumber());
    if (first != second)
      run.Failed(tested->name(), std::string("its answer depends on earlier questions: ") + ReasonName(first) +
                                     " in one order, " + ReasonName(second) + " in the reverse one");
  }
}

// Models with a constant of a million elements, for delegates of different operators.
std::vector<Case> WithLargeConstants(uint64_t seed) {
  constexpr int64_t kExtent = 1024;
  std::vector<Case> all;
  constexpr const char* kNote = "a constant of a million elements";
  const Dims row = {1, kExtent}, square = {kExtent, kExtent};
  const Dims pixel = {1, kExtent, 1, 1}, filters = {kExtent, kExtent, 1, 1};
  struct Kind {
    const char* op_type;
    Dims variable, constant;
  };
  const Kind kinds[] = {{"MatMul", row, square},
                        {"Gemm", row, square},
                        {"Conv", pixel, filters},
                        {"Add", square, square},
                        {"Mul", square, square}};
  for (const deputy_dtype dtype : {kF32, kF16})
    for (const Kind& kind : kinds) {
      CaseBuilder b(all, kind.op_type, seed);
      b.In(b.Random(dtype, kind.variable)).Const(b.Random(dtype, kind.constant, -0.5, 0.5)).Note(kNote).Add();
    }
  CaseBuilder bytes(all, "MatMulInteger", seed), rows(all, "Gather", seed);
  bytes.In(bytes.Random(kU8, row)).Const(bytes.Random(kU8, square)).Note(kNote).Add();
  rows.Const(rows.Random(kF32, square)).In(Whole({3, 1, 2})).Note(kNote).Add();
  return all;
}

// Many models on one instance, each destroyed before the next one: none may leave anything behind for which a later one
// is refused. `tested` is changed, so that no two models are equal.
void CheckReturned(TestRun& run, Instance& instance, Case tested, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    for (Operand& input : tested.inputs)
      if (input.constant) input.value.Put(i, static_cast<int64_t>(i % 2));
    const CaseGraph shown(tested);
    const auto fail = [&](const std::string& why) {
      run.Failed(tested.name(), "model " + std::to_string(i + 1) +
                                    " of one size on an instance, after the others were destroyed: " + why);
    };
    Answer refusal;
    std::optional<Claim> claim = instance.ClaimAll(shown.graph, &refusal);
    // The host may ask more often than it compiles.
    for (int again = 0; again < 3 && claim; ++again) {
      instance.Release(*claim);
      claim = instance.ClaimAll(shown.graph, &refusal);
    }
    if (!claim)
      return fail(std::string("it is refused, and had been taken at first: ") + ReasonName(refusal.reason) + ", " +
                  refusal.detail);
    Outcome outcome;
    std::string why_not;
    const auto executable = instance.Compile(shown.graph, *claim, &outcome);
    if (executable == nullptr) return fail("compile refuses it, and had not at first: " + outcome.ToString());
    const auto context = executable->CreateContext(&why_not);
    if (context == nullptr) return fail("it gets no context: " + why_not);
    if (i % 16 != 0) continue;
    const std::string wrong = FaultOfRun(shown, *claim, *context, run.settings().computes_in);
    if (!wrong.empty()) return fail(wrong);
  }
  run.Passed(tested.name());
}

void CheckManyModels(TestRun& run, const std::vector<Case>& cases) {
  constexpr size_t kMost = 3;
  const auto [plugin, instance] = run.LoadAndOpen();
  if (instance == nullptr) return;
  const int rounds = run.settings().thorough ? 320 : 40;
  std::vector<Case> taken;
  std::map<std::string, int> of_operator;
  for (const Case& tested : WithLargeConstants(run.settings().seed)) {
    std::string ignored;
    if (taken.size() < kMost && CompileCase(*instance, tested, &ignored)) taken.push_back(tested);
  }
  // Of other operators small ones.
  for (const Case& tested : cases) {
    const auto constant = [](const Operand& input) {
      return input.present && input.constant && input.value.count() > 99;
    };
    if (taken.size() >= 2 * kMost || std::none_of(tested.inputs.begin(), tested.inputs.end(), constant)) continue;
    std::string ignored;
    if (++of_operator[tested.node.name()] == 1 && CompileCase(*instance, tested, &ignored)) taken.push_back(tested);
  }
  if (taken.empty()) return run.Skipped("it takes no node with a large constant");
  for (size_t i = static_cast<size_t>(run.first_case()); i < taken.size(); ++i) {
    run.BeginCase(static_cast<int64_t>(i), taken[i].name());
    CheckReturned(run, *instance, taken[i], rounds);
    if (!run.NoFaults(*plugin, taken[i].name()) || run.failures() != 0) return;
  }
}

void CheckDestruction(TestRun& run, const std::vector<Case>& cases) {
  auto [plugin, instance, compiled] = OpenAnyCase(run, cases);
  if (!compiled) return;
  std::string why_not;
  std::unique_ptr<Context> second = compiled->executable->CreateContext(&why_not);
  std::unique_ptr<Context> unused = compiled->executable->CreateContext(&why_not);
  if (second == nullptr || unused == nullptr) return run.Failed("", "no second context: " + why_not);
  compiled->context.reset();
  std::string wrong = RunOnce(run, *compiled, *second);
  if (!wrong.empty()) run.Failed("", "after the first context was destroyed: " + wrong);
  unused.reset();
  second.reset();
  compiled->context = compiled->executable->CreateContext(&why_not);
  if (compiled->context == nullptr) return run.Failed("", "no context after all were destroyed: " + why_not);
  wrong = RunOnce(run, *compiled, *compiled->context);
  if (!wrong.empty()) run.Failed("", "in a new context after all were destroyed: " + wrong);
  // An executable that never had a context; claims that were never compiled.
  Answer refusal;
  if (std::optional<Claim> claim = instance->ClaimAll(compiled->shown->graph, &refusal)) {
    Outcome outcome;
    if (instance->Compile(compiled->shown->graph, *claim, &outcome) == nullptr)
      run.Failed("", "the same node is refused the second time: " + outcome.ToString());
  }
  for (Claim& claim : instance->Propose(compiled->shown->graph)) instance->Release(claim);
  wrong = RunOnce(run, *compiled, *compiled->context);
  if (!wrong.empty()) run.Failed("", "after another executable was destroyed: " + wrong);
  compiled.reset();
  instance.reset();
  run.NoFaults(*plugin, "");
}

void CheckSurroundings(TestRun& run, const std::vector<Case>& cases) {
  const PluginFile file = PluginFile::Read(run.settings().plugin);
  Surroundings before = Surroundings::Take();
  for (const auto& [key, value] : file.lines)
    if (key == "env") before.environment[value.substr(0, value.find('='))] = value.substr(value.find('=') + 1);
  auto [plugin, instance] = run.LoadAndOpen();
  if (instance == nullptr) return;
  std::optional<Compiled> compiled = CompileAnyCase(*instance, cases);
  if (compiled) (void)RunOnce(run, *compiled, *compiled->context);
  const std::string changes = Surroundings::Take().ChangesSince(before);
  if (!changes.empty()) run.Failed("", "it changes " + changes);
}

void CheckThreads(TestRun& run, const std::vector<Case>& cases) {
  const size_t before = ThreadCount();
  const std::unique_ptr<Plugin> plugin = run.Load();
  if (plugin == nullptr) return;
  {
    const std::unique_ptr<Instance> instance = run.Open(*plugin);
    if (instance == nullptr) return;
    std::optional<Compiled> compiled = CompileAnyCase(*instance, cases);
    if (compiled) (void)RunOnce(run, *compiled, *compiled->context);
  }
  plugin->Shutdown();
  if (const size_t left = ThreadsBeyond(before); left != 0)
    run.Failed("", std::to_string(left) + " threads are still there after shutdown, which joins them");
}

}  // namespace

std::vector<Test> LifeCycleTests(const std::vector<Case>& cases) {
  return {{"lifecycle.probe", CheckProbe},
          {"lifecycle.open", CheckOpenClose},
          {"lifecycle.instances", With(CheckTwoInstances, cases)},
          {"lifecycle.query", With(CheckQueries, cases)},
          {"lifecycle.query_order", With(CheckOrder, cases)},
          {"lifecycle.many_models", With(CheckManyModels, cases)},
          {"lifecycle.destruction", With(CheckDestruction, cases)},
          {"lifecycle.surroundings", With(CheckSurroundings, cases)},
          {"lifecycle.threads", With(CheckThreads, cases)}};
}

}  // namespace deputy::conformance
