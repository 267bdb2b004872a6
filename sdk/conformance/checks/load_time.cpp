// Load-time calls of two instances that overlap: one of them is held where it asks the host about its graph, while the
// other one is served from beginning to end. And definitions that the host does not offer yet.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <map>
#include <thread>

#include "case_run.hpp"
#include "concurrency.hpp"
#include "definitions.hpp"
#include "test.hpp"
#include "text.hpp"
#include "threads.hpp"

namespace deputy::conformance {
namespace {

// Calls `meanwhile` on another thread, once, at call number `at` of `outer` to the host, and waits for it for a while:
// a plugin may have a lock.
class Interrupted {
 public:
  explicit Interrupted(HostServices& host) : host_(host) {}

  // The calls to the host that `call` makes.
  size_t CallsOf(const std::function<void()>& call) {
    std::atomic<size_t> calls{0};
    host_.SetInterruption([&] { ++calls; });
    call();
    host_.SetInterruption({});
    return calls;
  }

  // False where the plugin lets nothing overlap, or the kit has no further thread.
  bool Run(size_t at, const std::function<void()>& outer, const std::function<void()>& meanwhile) {
    const std::thread::id own = std::this_thread::get_id();
    size_t calls = 0;
    std::atomic<bool> done{false};
    bool in_time = true;
    Threads other;
    host_.SetInterruption([&, own] {
      if (std::this_thread::get_id() != own || calls++ != at) return;
      if (!other.Start([&] {
            meanwhile();
            done = true;
          })) {
        in_time = false;
        return;
      }
      const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
      while (!done && std::chrono::steady_clock::now() < until) std::this_thread::yield();
      in_time = done;
    });
    outer();
    other.Join();
    host_.SetInterruption({});
    why_not_ = other.why_not();
    return in_time;
  }
  const std::string& why_not() const { return why_not_; }

 private:
  HostServices& host_;
  std::string why_not_;
};

std::vector<const Case*> SomeOfEach(const std::vector<Case>& cases, int of_each) {
  std::map<std::string, int> count;
  std::vector<const Case*> some;
  for (const Case& tested : cases)
    if (++count[tested.node.name()] <= of_each) some.push_back(&tested);
  return some;
}

void CheckQueries(TestRun& run, const std::vector<Case>& cases) {
  const std::unique_ptr<Plugin> plugin = run.Load();
  if (plugin == nullptr) return;
  const std::unique_ptr<Instance> one = run.Open(*plugin), two = run.Open(*plugin);
  if (one == nullptr || two == nullptr) return;
  if (IsSerial(*one)) return run.Skipped("it lets no two calls overlap");
  const std::vector<const Case*> asked = SomeOfEach(cases, run.settings().thorough ? 12 : 3);
  std::vector<const Case*> known;
  std::vector<std::unique_ptr<CaseGraph>> shown;
  std::vector<std::vector<Answer>> alone;
  std::vector<size_t> calls;
  Interrupted interrupted(plugin->host());
  for (const Case* tested : asked) {
    auto graph = std::make_unique<CaseGraph>(*tested);
    if (graph->expected.empty()) continue;
    alone.emplace_back();
    calls.push_back(interrupted.CallsOf([&] { alone.back() = one->Query(graph->graph); }));
    known.push_back(tested);
    shown.push_back(std::move(graph));
  }
  for (size_t i = 0; i < shown.size(); ++i) {
    // Another case of the same operator, and one of another operator.
    const size_t other = i % 2 == 0 ? (i + 1) % shown.size() : (i * 7 + 3) % shown.size();
    bool overlapped = true;
    // At the last call, when the plugin knows most, and at one of the others.
    for (const size_t from_the_end : {size_t{1}, 2 + i % 6}) {
      if (from_the_end > calls[i] || !overlapped) break;
      std::vector<Answer> first, second;
      overlapped = interrupted.Run(
          calls[i] - from_the_end, [&] { first = one->Query(shown[i]->graph); },
          [&] { second = two->Query(shown[other]->graph); });
      if (!interrupted.why_not().empty()) return run.Failed("", interrupted.why_not());
      const std::string text = "its answer differs when another instance is asked at the same time, about ";
      if (!(first == alone[i])) run.Failed(known[i]->name(), text + known[other]->name());
      if (!second.empty() && !(second == alone[other])) run.Failed(known[other]->name(), text + known[i]->name());
    }
    if (!overlapped || run.failures() > 8) break;
  }
  run.NoFaults(*plugin, "");
}

void CheckCompilations(TestRun& run, const std::vector<Case>& cases) {
  constexpr size_t kMost = 16;
  const std::unique_ptr<Plugin> plugin = run.Load();
  if (plugin == nullptr) return;
  const std::unique_ptr<Instance> one = run.Open(*plugin), two = run.Open(*plugin);
  if (one == nullptr || two == nullptr) return;
  if (IsSerial(*one)) return run.Skipped("it lets no two calls overlap");
  std::vector<const Case*> taken;
  std::string ignored;
  for (const Case* tested : SomeOfEach(cases, 2))
    if (taken.size() < kMost && CompileCase(*one, *tested, &ignored)) taken.push_back(tested);
  if (taken.empty()) return run.Skipped("it takes no case");
  Interrupted interrupted(plugin->host());
  const deputy_dtype computes_in = run.settings().computes_in;
  for (size_t i = 0; i < 2 * taken.size(); ++i) {
    const Case &outer = *taken[i % taken.size()], &inner = *taken[(i * 3 + 1) % taken.size()];
    std::optional<Compiled> first, second;
    std::string why_first, why_second;
    bool called = false;
    const size_t calls = interrupted.CallsOf([&] { (void)CompileCase(*one, outer, &ignored); });
    const bool overlapped = interrupted.Run(
        calls - std::min(calls, 1 + i % 5), [&] { first = CompileCase(*one, outer, &why_first); },
        [&] {
          called = true;
          second = CompileCase(*two, inner, &why_second);
        });
    if (!interrupted.why_not().empty()) return run.Failed("", interrupted.why_not());
    const std::string text = " while another instance compiles at the same time";
    if (!first || (called && !second)) {
      run.Failed((first ? inner : outer).name(), "it is refused" + text + ": " + (first ? why_second : why_first));
      break;
    }
    for (const std::optional<Compiled>* made : {&first, &second}) {
      if (!*made) continue;
      const std::string wrong = FaultOfRun(*(*made)->shown, (*made)->claim, *(*made)->context, computes_in);
      if (!wrong.empty()) run.Failed((*made)->name, "compiled" + text + ": " + wrong);
    }
    if (!overlapped || run.failures() != 0) break;
  }
  run.NoFaults(*plugin, "");
}

// The newest definition of the domain that the host offers to the delegate.
int64_t DeclaredOf(const deputy_delegate& delegate, const std::string& domain) {
  for (uint64_t i = 0; delegate.opsets != nullptr && i < delegate.opset_count; ++i)
    if (TextOf(delegate.opsets[i].domain) == domain) return delegate.opsets[i].version;
  return std::numeric_limits<int32_t>::max();
}

// Definitions that no list has yet: a host offers them as soon as they exist, unless the delegate declares an older
// operator set. Their meaning is not known yet.
void CheckDefinitions(TestRun& run, const std::vector<Case>& cases) {
  const auto [plugin, instance] = run.LoadAndOpen();
  if (instance == nullptr) return;
  std::map<std::string, bool> seen;
  for (const Case& tested : cases) {
    const std::string domain = tested.node.domain, name = tested.node.name();
    const int32_t next = NewestDefinition(domain) + 1;
    if (next > DeclaredOf(*instance->delegate(), domain) || seen[name]) continue;
    const CaseGraph known(tested);
    if (known.expected.empty()) continue;
    Answer refusal;
    std::optional<Claim> claim = instance->ClaimAll(known.graph, &refusal);
    if (!claim) continue;
    instance->Release(*claim);
    seen[name] = true;
    Case later = tested;
    later.node.since_version = next;
    const CaseGraph shown(later);
    claim = instance->ClaimAll(shown.graph, &refusal);
    if (claim) {
      instance->Release(*claim);
      run.Failed(name, "it takes definition " + std::to_string(next) +
                           ", which is newer than all that exist: its opsets must name, for each domain, the newest "
                           "that it was written for, or it must refuse newer definitions");
    }
  }
  run.NoFaults(*plugin, "");
}

}  // namespace

std::vector<Test> LoadTimeTests(const std::vector<Case>& cases) {
  return {{"lifecycle.query_threads", With(CheckQueries, cases)},
          {"lifecycle.compile_threads", With(CheckCompilations, cases)},
          {"lifecycle.definitions", With(CheckDefinitions, cases)}};
}

}  // namespace deputy::conformance
