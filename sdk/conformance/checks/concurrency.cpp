// Concurrent runs, as far as the delegate allows: contexts of one executable, executables of one instance, instances.
// Without ext/concurrency.h all may overlap, and with DEPUTY_DELEGATE_SERIAL none.
#include "deputy/abi/ext/concurrency.h"

#include <atomic>
#include <map>
#include <mutex>
#include <thread>

#include "case_run.hpp"
#include "concurrency.hpp"
#include "test.hpp"
#include "threads.hpp"

namespace deputy::conformance {
namespace {

using Cases = std::vector<Case>;

constexpr uint32_t kAll = DEPUTY_CONCURRENT_CONTEXTS | DEPUTY_CONCURRENT_EXECUTABLES | DEPUTY_CONCURRENT_INSTANCES;
constexpr size_t kLanes = 4;

const deputy_ext_concurrency* ConcurrencyOf(Instance& instance) {
  const auto* table = static_cast<const deputy_ext_concurrency*>(instance.plugin().Extension(
      instance.delegate(), DEPUTY_EXT_CONCURRENCY, DEPUTY_END_OF(deputy_ext_concurrency, concurrency)));
  if (table == nullptr || table->concurrency != nullptr) return table;
  instance.plugin().host().Fault("the table of " DEPUTY_EXT_CONCURRENCY " has an empty slot");
  return nullptr;
}

uint32_t AskedOf(Instance& instance, const deputy_ext_concurrency& table) {
  uint32_t flags = 0;
  const Outcome outcome =
      instance.plugin().Call("concurrency", [&] { return table.concurrency(instance.handle(), &flags); });
  if (!outcome.ok()) instance.plugin().host().Fault("concurrency failed: " + outcome.ToString());
  return flags & kAll;
}

}  // namespace

uint32_t AllowedConcurrency(Instance& instance) {
  if ((instance.delegate()->flags & DEPUTY_DELEGATE_SERIAL) != 0) return 0;
  const deputy_ext_concurrency* table = ConcurrencyOf(instance);
  return table == nullptr ? kAll : AskedOf(instance, *table);
}

namespace {

// The repeated run of one thread.
struct Lane {
  Case tested;
  CaseGraph shown;
  const Claim& claim;
  Context& context;

  Lane(const Case& one, size_t turn, const Claim& bound, Context& runs)
      : tested(Turned(one, turn)), shown(tested), claim(bound), context(runs) {}

  std::string Run(deputy_dtype computes_in) const { return FaultOfRun(shown, claim, context, computes_in); }
};

using Lanes = std::vector<std::unique_ptr<Lane>>;

void RunAtOnce(TestRun& run, const Lanes& lanes) {
  constexpr int kRuns = 100;
  std::mutex mutex;
  std::string first_wrong;
  std::atomic<size_t> ready{0};
  std::atomic<bool> ends{false};
  Threads threads;
  for (const std::unique_ptr<Lane>& lane : lanes) {
    const bool started = threads.Start([&, one = lane.get()] {
      ++ready;
      while (ready < lanes.size() && !ends) std::this_thread::yield();
      for (int turn = 0; turn < kRuns && !ends; ++turn) {
        const std::string wrong = one->Run(run.settings().computes_in);
        if (wrong.empty()) continue;
        const std::lock_guard lock(mutex);
        if (first_wrong.empty()) first_wrong = wrong;
        return;
      }
    });
    if (started) continue;
    ends = true;
    break;
  }
  threads.Join();
  if (!threads.why_not().empty()) return run.Failed("", threads.why_not());
  if (!first_wrong.empty()) run.Failed("", "on " + std::to_string(lanes.size()) + " threads at once: " + first_wrong);
}

// `instance` is NULL unless the delegate allows the concurrency of `flag`, named by `subject` in messages.
OpenedPlugin OpenIfAllowed(TestRun& run, uint32_t flag, const char* subject) {
  OpenedPlugin opened = run.LoadAndOpen();
  if (opened.instance == nullptr || (AllowedConcurrency(*opened.instance) & flag) != 0) return opened;
  opened.instance.reset();
  run.Skipped(std::string("the delegate lets no two ") + subject + " run at once");
  return opened;
}

void CheckContexts(TestRun& run, const Cases& cases) {
  const OpenedPlugin opened = OpenIfAllowed(run, DEPUTY_CONCURRENT_CONTEXTS, "contexts of an executable");
  if (opened.instance == nullptr) return;
  const std::optional<Compiled> compiled = CompileAnyCase(*opened.instance, cases);
  if (!compiled) return run.Skipped("it takes no case");
  std::vector<std::unique_ptr<Context>> contexts;
  Lanes lanes;
  for (size_t i = 0; i < kLanes; ++i) {
    std::string why_not;
    contexts.push_back(compiled->executable->CreateContext(&why_not));
    if (contexts.back() == nullptr) return run.Failed("", "no further context: " + why_not);
    lanes.push_back(std::make_unique<Lane>(*compiled->tested, i, compiled->claim, *contexts.back()));
  }
  RunAtOnce(run, lanes);
  run.NoFaults(*opened.plugin, "");
}

void CheckExecutables(TestRun& run, const Cases& cases) {
  const OpenedPlugin opened = OpenIfAllowed(run, DEPUTY_CONCURRENT_EXECUTABLES, "executables of an instance");
  if (opened.instance == nullptr) return;
  // Of several operators, or of the same one if there are too few.
  std::vector<Compiled> all;
  std::map<std::string, size_t> count;
  std::string ignored;
  for (const size_t most : {size_t{1}, kLanes})
    for (const Case& tested : cases) {
      if (all.size() == kLanes || tested.label.rfind("shape=empty", 0) == 0) continue;
      if (count[tested.node.name()] >= most) continue;
      if (std::optional<Compiled> compiled = CompileCase(*opened.instance, tested, &ignored)) {
        ++count[tested.node.name()];
        all.push_back(std::move(*compiled));
      }
    }
  if (all.size() < 2) return run.Skipped("it takes no two cases");
  Lanes lanes;
  for (size_t i = 0; i < all.size(); ++i)
    lanes.push_back(std::make_unique<Lane>(*all[i].tested, i, all[i].claim, *all[i].context));
  RunAtOnce(run, lanes);
  run.NoFaults(*opened.plugin, "");
}

void CheckInstances(TestRun& run, const Cases& cases) {
  const OpenedPlugin opened = OpenIfAllowed(run, DEPUTY_CONCURRENT_INSTANCES, "instances");
  if (opened.instance == nullptr) return;
  std::vector<std::unique_ptr<Instance>> instances;
  std::vector<Compiled> all;
  for (size_t i = 0; i < kLanes; ++i) {
    instances.push_back(run.Open(*opened.plugin));
    if (instances.back() == nullptr) return;
    std::optional<Compiled> compiled = CompileAnyCase(*instances.back(), cases);
    if (!compiled) return run.Skipped("it takes no case");
    all.push_back(std::move(*compiled));
  }
  Lanes lanes;
  for (size_t i = 0; i < all.size(); ++i)
    lanes.push_back(std::make_unique<Lane>(*all[i].tested, i, all[i].claim, *all[i].context));
  RunAtOnce(run, lanes);
  lanes.clear();
  all.clear();  // before their instances
  run.NoFaults(*opened.plugin, "");
}

void CheckAnswers(TestRun& run, const Cases& cases) {
  const auto [plugin, instance] = run.LoadAndOpen();
  if (instance == nullptr) return;
  const deputy_ext_concurrency* table = ConcurrencyOf(*instance);
  if (!run.NoFaults(*plugin, "")) return;
  if (table == nullptr) return run.Skipped("it has no " DEPUTY_EXT_CONCURRENCY);
  const uint32_t before = AskedOf(*instance, *table);
  std::optional<Compiled> compiled = CompileAnyCase(*instance, cases);
  if (AskedOf(*instance, *table) != before) run.Failed("", "it answers otherwise when something has been compiled");
  if (compiled)
    if (const std::string wrong =
            FaultOfRuns(*compiled->shown, compiled->claim, *compiled->context, run.settings().computes_in);
        !wrong.empty())
      run.Failed("", wrong);
  if (AskedOf(*instance, *table) != before) run.Failed("", "it answers otherwise when something has run");
  run.NoFaults(*plugin, "");
}

}  // namespace

std::vector<Test> ConcurrencyTests(const std::vector<Case>& cases) {
  return {{"execution.concurrency", With(CheckAnswers, cases)},
          {"execution.threads", With(CheckContexts, cases)},
          {"execution.threads_executables", With(CheckExecutables, cases)},
          {"execution.threads_instances", With(CheckInstances, cases)}};
}

}  // namespace deputy::conformance
