// Runs that the delegate ends by itself: results, several in flight, their ends, cancels and late ones, and its queues.
#include <algorithm>
#include <atomic>
#include <deque>
#include <iterator>
#include <mutex>
#include <thread>

#include "case_run.hpp"
#include "concurrency.hpp"
#include "deputy/abi/ext/concurrency.h"
#include "submissions.hpp"
#include "test.hpp"
#include "threads.hpp"

namespace deputy::conformance {
namespace {

using Cases = std::vector<Case>;

constexpr std::chrono::seconds kPatience(10);
constexpr size_t kMostInFlight = 8;

// NULL after a failure or a skip has been recorded. It lives as long as the process: the end of a run may come late.
Submissions* OpenSubmissions(TestRun& run, Instance& instance) {
  auto* const submissions = new Submissions(instance);
  if (submissions->has()) return submissions;
  if (run.NoFaults(instance.plugin(), "")) run.Skipped("it has no deputy.async");
  return nullptr;
}

// A case on a delegate with deputy.async. `compiled` is empty after a failure or a skip has been recorded.
struct SubmittedCase {
  OpenedPlugin opened;
  Submissions* submissions = nullptr;
  std::optional<Compiled> compiled;
};
SubmittedCase OpenSubmittedCase(TestRun& run, const Cases& cases) {
  SubmittedCase made{run.LoadAndOpen(), nullptr, std::nullopt};
  if (made.opened.instance == nullptr) return made;
  made.submissions = OpenSubmissions(run, *made.opened.instance);
  if (made.submissions == nullptr) return made;
  made.compiled = CompileAnyCase(*made.opened.instance, cases);
  if (!made.compiled) run.Skipped("it takes no case");
  return made;
}

// Contexts of one executable, each with values of its own to run.
struct Lanes {
  std::deque<Case> turned;
  std::vector<std::unique_ptr<Context>> contexts;
  std::vector<std::unique_ptr<CaseGraph>> shown;
};
// Nothing after a failure has been recorded.
std::optional<Lanes> MakeLanes(TestRun& run, const Compiled& compiled, size_t count) {
  Lanes made;
  for (size_t i = 0; i < count; ++i) {
    std::string why_not;
    made.contexts.push_back(compiled.executable->CreateContext(&why_not));
    if (made.contexts.back() == nullptr) {
      run.Failed("", "no further context: " + why_not);
      return std::nullopt;
    }
    made.shown.push_back(std::make_unique<CaseGraph>(made.turned.emplace_back(Turned(*compiled.tested, i))));
  }
  return made;
}

// A run that never ends holds its buffers: the process ends without them.
std::string NeverEnded(std::unique_ptr<Submission>& one, const std::string& after) {
  (void)one.release();
  return "a run has not ended " + std::to_string(kPatience.count()) + " s after " + after;
}

// Waits for the end of a run and destroys it; what is wrong with it, or "".
std::string FaultOfEnd(const TestRun& run, Submissions& submissions, std::unique_ptr<Submission>& one,
                       const std::string& after) {
  if (!submissions.WaitForEnd(*one, kPatience)) return NeverEnded(one, after);
  std::string wrong = one->outcome().ok() ? one->FaultOfValues(run.settings().computes_in)
                                          : "a submitted run fails: " + one->outcome().ToString();
  submissions.Destroy(one);
  return wrong;
}

// A run with a sink, one that is polled, one that is waited for.
// Each has other values, which must not be those of another run.
std::string FaultOfSubmissions(const TestRun& run, Submissions& submissions, Compiled& compiled) {
  static std::deque<Case> turned;  // as long as the submissions that are kept
  static std::deque<CaseGraph> shown;
  for (const size_t turn : {0u, 1u, 2u}) shown.emplace_back(turned.emplace_back(Turned(*compiled.tested, turn)));
  const auto at = [&](size_t back) -> const ShownModel& { return shown[shown.size() - 1 - back]; };
  auto one = std::make_unique<Submission>(at(2), compiled.claim, *compiled.context);
  if (const Outcome outcome = submissions.Submit(*one); !outcome.ok()) return "submit fails: " + outcome.ToString();
  if (!submissions.WaitForEnd(*one, kPatience)) return NeverEnded(one, "submit");
  if (!submissions.HasEnded(*one)) return "poll says that a run for which done was called has not ended";
  if (const Outcome again = submissions.Wait(*one, 0); again.code != one->outcome().code)
    return "wait returns '" + again.ToString() + "' for a run that ended as '" + one->outcome().ToString() + "'";
  if (const Outcome late = submissions.Cancel(*one); !late.ok())
    return "cancel fails for a run that has ended: " + late.ToString();
  if (std::string wrong = FaultOfEnd(run, submissions, one, "submit"); !wrong.empty()) return wrong;

  for (const bool polls : {true, false}) {
    one = std::make_unique<Submission>(at(polls ? 1 : 0), compiled.claim, *compiled.context);
    if (const Outcome outcome = submissions.Submit(*one, false); !outcome.ok())
      return "submit without a sink fails: " + outcome.ToString();
    const auto until = std::chrono::steady_clock::now() + kPatience;
    while (polls && !submissions.HasEnded(*one))
      if (std::chrono::steady_clock::now() > until) return NeverEnded(one, "submit without a sink");
    const Outcome outcome = submissions.Wait(*one, 0);
    std::string wrong = outcome.ok() ? one->FaultOfValues(run.settings().computes_in)
                                     : "a run that is waited for fails: " + outcome.ToString();
    submissions.Destroy(one);
    if (!wrong.empty()) return wrong;
  }
  return "";
}

void CheckRuns(TestRun& run, const Cases& cases) {
  constexpr size_t kMost = 40, kPerOperator = 3;
  const auto [plugin, instance] = run.LoadAndOpen();
  if (instance == nullptr) return;
  Submissions* const submissions = OpenSubmissions(run, *instance);
  if (submissions == nullptr) return;
  std::vector<Compiled> all = CompileSomeCases(
      *instance, cases, kMost, [](const Case&, size_t, size_t supported) { return supported < kPerOperator; });
  if (all.empty()) return run.Skipped("it takes no case");
  for (Compiled& compiled : all) {
    std::string wrong = FaultOfSubmissions(run, *submissions, compiled);
    // And as a host without the extension runs it.
    if (wrong.empty())
      wrong = FaultOfRun(*compiled.shown, compiled.claim, *compiled.context, run.settings().computes_in);
    if (!wrong.empty()) run.Failed(compiled.name, wrong);
  }
  run.NoFaults(*plugin, "");
}

// As many runs in flight as the delegate takes, of as many contexts, many times.
void CheckOverlap(TestRun& run, const Cases& cases) {
  constexpr int kRounds = 50;
  const auto [opened, submissions, compiled] = OpenSubmittedCase(run, cases);
  if (!compiled) return;
  const size_t most = std::min<size_t>(kMostInFlight, submissions->Limits().most_runs_in_flight);
  const std::optional<Lanes> lanes = MakeLanes(run, *compiled, most);
  if (!lanes) return;
  size_t runs = 0, ended_in_submit = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<std::unique_ptr<Submission>> in_flight;
    for (size_t i = 0; i < most; ++i) {
      in_flight.push_back(std::make_unique<Submission>(*lanes->shown[i], compiled->claim, *lanes->contexts[i]));
      const Outcome outcome = submissions->Submit(*in_flight.back());
      if (outcome.ok()) continue;
      in_flight.pop_back();
      run.Failed("", "submit fails with " + std::to_string(i) + " runs in flight of the " + std::to_string(most) +
                         " that it takes: " + outcome.ToString());
      break;
    }
    std::string wrong;
    for (std::unique_ptr<Submission>& one : in_flight) {
      if (!submissions->WaitForEnd(*one, kPatience)) return run.Failed("", NeverEnded(one, "submit, beside others"));
      ++runs;
      if (one->ended_in_submit()) ++ended_in_submit;
      const std::string fault = FaultOfEnd(run, *submissions, one, "submit");
      if (wrong.empty()) wrong = fault;
    }
    if (!wrong.empty()) return run.Failed("", std::to_string(most) + " in flight: " + wrong);
    if (run.failures() != 0) break;
  }
  if (runs != 0 && ended_in_submit == runs)
    run.Failed("", "each of " + std::to_string(runs) +
                       " runs ended within submit: the delegate computes there, and a host gains nothing by it");
  run.NoFaults(*opened.plugin, "");
}

// Contexts whose runs are submitted by threads of their own at once, where calls may overlap.
void CheckThreads(TestRun& run, const Cases& cases) {
  constexpr size_t kThreads = 3;
  constexpr int kRuns = 60;
  const auto [opened, submissions, compiled] = OpenSubmittedCase(run, cases);
  if (!compiled) return;
  if ((AllowedConcurrency(*opened.instance) & DEPUTY_CONCURRENT_CONTEXTS) == 0)
    return run.Skipped("the delegate lets no two contexts of an executable be called at once");
  const std::optional<Lanes> lanes = MakeLanes(run, *compiled, kThreads);
  if (!lanes) return;
  std::mutex mutex;
  std::string first_wrong;
  std::atomic<size_t> ready{0};
  std::atomic<bool> ends{false};
  Threads threads;
  for (size_t i = 0; i < kThreads && !ends; ++i)
    ends = !threads.Start([&, i, &runs = *submissions, &claim = compiled->claim] {
      ++ready;
      while (ready < kThreads && !ends) std::this_thread::yield();
      for (int turn = 0; turn < kRuns && !ends; ++turn) {
        auto one = std::make_unique<Submission>(*lanes->shown[i], claim, *lanes->contexts[i]);
        const Outcome outcome = runs.Submit(*one);
        std::string wrong = outcome.ok() ? FaultOfEnd(run, runs, one, "submit, beside other threads")
                                         : "submit fails: " + outcome.ToString();
        if (wrong.empty()) continue;
        ends = true;
        const std::lock_guard lock(mutex);
        if (first_wrong.empty()) first_wrong = std::move(wrong);
      }
    });
  threads.Join();
  if (!threads.why_not().empty()) return run.Failed("", threads.why_not());
  if (!first_wrong.empty()) run.Failed("", std::to_string(kThreads) + " threads submit at once: " + first_wrong);
  run.NoFaults(*opened.plugin, "");
}

// Cancels a run that waits behind one which stands where it first touches its input, or that one; what is wrong with
// either, or "".
std::string FaultOfCancelInQueue(const TestRun& run, Submissions& submissions, Compiled& compiled, bool first_ends) {
  std::string why_not;
  const std::unique_ptr<Context> other = compiled.executable->CreateContext(&why_not);
  if (other == nullptr) return "no further context: " + why_not;
  why_not.clear();
  auto first = std::make_unique<Submission>(*compiled.shown, compiled.claim, *compiled.context);
  auto second = std::make_unique<Submission>(*compiled.shown, compiled.claim, *other);
  bool stopped = false, submitted = false;
  Outcome cancelled;
  const auto whole = [&]() -> Outcome {
    const Outcome outcome = submissions.Submit(*first);
    if (outcome.ok()) (void)submissions.WaitForEnd(*first, kPatience);
    return outcome;
  };
  const auto meanwhile = [&] {
    submitted = submissions.TrySubmit(*second).ok();
    if (submitted) cancelled = submissions.Cancel(first_ends ? *first : *second);
  };
  const Outcome outcome = first->binding().RunStopped(whole, 0, meanwhile, &stopped, &why_not);
  if (!why_not.empty()) return why_not;
  if (!outcome.ok()) return "submit fails: " + outcome.ToString();
  if (!submitted) return FaultOfEnd(run, submissions, first, "submit");
  std::unique_ptr<Submission>& other_run = first_ends ? second : first;
  std::unique_ptr<Submission>& cancelled_run = first_ends ? first : second;
  std::string wrong = FaultOfEnd(run, submissions, other_run, "submit");
  if (!wrong.empty()) return "beside a run that is cancelled: " + wrong;
  if (!cancelled.ok()) return "cancel fails for a run in flight: " + cancelled.ToString();
  if (!submissions.WaitForEnd(*cancelled_run, kPatience))
    return NeverEnded(cancelled_run, first_ends ? "its cancel" : "its cancel, behind another run");
  const Outcome ended = cancelled_run->outcome();
  wrong = ended.ok() ? cancelled_run->FaultOfValues(run.settings().computes_in) : "";
  submissions.Destroy(cancelled_run);
  if (!wrong.empty()) return "a cancelled run succeeds: " + wrong;
  if (ended.ok() || ended.code == DEPUTY_CANCELLED) return "";
  return "a cancelled run ends with: " + ended.ToString();
}

// Runs that are cancelled, or whose deadline passes, while they wait or compute.
void CheckCancel(TestRun& run, const Cases& cases) {
  constexpr int kRounds = 30;
  auto [opened, submissions, compiled] = OpenSubmittedCase(run, cases);
  if (!compiled) return;
  if (submissions->Limits().most_runs_in_flight > 1)
    for (const bool first_ends : {false, true})
      if (const std::string wrong = FaultOfCancelInQueue(run, *submissions, *compiled, first_ends); !wrong.empty())
        return run.Failed("", wrong);
  for (int round = 0; round < kRounds; ++round) {
    const bool is_late = round % 2 == 1;
    auto one = std::make_unique<Submission>(*compiled->shown, compiled->claim, *compiled->context);
    const uint64_t deadline_ns = is_late ? opened.plugin->host().ClockNs() + static_cast<uint64_t>(round) * 1000 : 0;
    if (const Outcome outcome = submissions->Submit(*one, true, deadline_ns); !outcome.ok())
      return run.Failed("", "submit fails: " + outcome.ToString());
    if (const Outcome outcome = submissions->Cancel(*one); !outcome.ok())
      return run.Failed("", "cancel fails: " + outcome.ToString());
    if (!submissions->WaitForEnd(*one, kPatience))
      return run.Failed("", NeverEnded(one, is_late ? "its deadline and its cancel" : "its cancel"));
    const Outcome ended = one->outcome();
    const std::string values = ended.ok() ? one->FaultOfValues(run.settings().computes_in) : "";
    submissions->Destroy(one);
    if (!values.empty()) return run.Failed("", "a cancelled run succeeds: " + values);
    if (!ended.ok() && ended.code != DEPUTY_CANCELLED && !(is_late && ended.code == DEPUTY_DEADLINE_EXCEEDED))
      return run.Failed("", "a cancelled run ends with: " + ended.ToString());
    // The next one is not cancelled.
    auto next = std::make_unique<Submission>(*compiled->shown, compiled->claim, *compiled->context);
    if (const Outcome outcome = submissions->Submit(*next); !outcome.ok())
      return run.Failed("", "submit fails after a cancelled run: " + outcome.ToString());
    if (const std::string wrong = FaultOfEnd(run, *submissions, next, "submit"); !wrong.empty())
      return run.Failed("", "after a cancelled run: " + wrong);
  }
  run.NoFaults(*opened.plugin, "");
}

// More runs than the delegate takes: each is refused as UNAVAILABLE, or is right. A queue that is emptied faster than
// this thread fills it is tried again.
void CheckFullQueue(TestRun& run, const Cases& cases) {
  constexpr size_t kMore = 4, kMostRounds = 100;
  const auto [opened, submissions, compiled] = OpenSubmittedCase(run, cases);
  if (!compiled) return;
  const deputy_queue_limits limits = submissions->Limits();
  const size_t most = std::min<size_t>(kMostInFlight, limits.most_runs_in_flight) + kMore;
  std::vector<std::unique_ptr<Context>> contexts;
  for (size_t i = 0; i < most; ++i) {
    std::string why_not;
    contexts.push_back(compiled->executable->CreateContext(&why_not));
    if (contexts.back() == nullptr) return run.Failed("", "no further context: " + why_not);
  }
  bool was_full = false;
  for (size_t round = 0; round < kMostRounds && !was_full; ++round) {
    std::vector<std::unique_ptr<Submission>> ready, in_flight;
    for (const std::unique_ptr<Context>& context : contexts)
      ready.push_back(std::make_unique<Submission>(*compiled->shown, compiled->claim, *context));
    for (std::unique_ptr<Submission>& one : ready) {
      const Outcome outcome = submissions->TrySubmit(*one);
      if (outcome.ok()) {
        in_flight.push_back(std::move(one));
        continue;
      }
      was_full = true;
      if (outcome.code != DEPUTY_UNAVAILABLE)
        run.Failed("", "a run too many is not refused as UNAVAILABLE: " + outcome.ToString());
    }
    for (std::unique_ptr<Submission>& one : in_flight)
      if (const std::string wrong = FaultOfEnd(run, *submissions, one, "submit, beside others"); !wrong.empty())
        return run.Failed("", wrong);
  }
  run.NoFaults(*opened.plugin, "");
}

// The limits stay the same, and its choice is one of those that it has.
void CheckQueues(TestRun& run, const Cases& cases) {
  const auto [plugin, instance] = run.LoadAndOpen();
  if (instance == nullptr) return;
  Submissions submissions(*instance);
  if (submissions.scheduling() == nullptr) {
    if (run.NoFaults(*plugin, "")) run.Skipped("it has no deputy.scheduling");
    return;
  }
  if (!submissions.has()) return run.Failed("", "it has deputy.scheduling without deputy.async");
  const deputy_queue_limits before = submissions.Limits();
  const std::optional<Compiled> compiled = CompileAnyCase(*instance, cases);
  if (!compiled) return run.Skipped("it takes no case");
  const deputy_queue_limits after = submissions.Limits();
  if (before.queue_count != after.queue_count || before.most_runs_in_flight != after.most_runs_in_flight ||
      before.most_runs_per_context != after.most_runs_per_context)
    run.Failed("", "its limits are others when something has been compiled");
  if (DEPUTY_HAS_FN(submissions.scheduling(), deputy_ext_scheduling, choose)) {
    constexpr uint64_t kLongestNs = 1'000'000;
    uint64_t fastest_ns = UINT64_MAX;
    // Priorities and deadlines, relative to now, of the i-th run; 0: no deadline.
    struct Pattern {
      int32_t (*priority)(uint32_t i, uint32_t count);
      int64_t (*deadline_ns)(uint32_t i);
    };
    constexpr int64_t kSoon = 1'000'000;
    constexpr uint32_t kCounts = 63;  // from 2 runs on
    const Pattern patterns[] = {{[](uint32_t i, uint32_t count) { return static_cast<int32_t>(count - i) / 4; },
                                 [](uint32_t i) { return i % 3 == 0 ? 0 : i * kSoon; }},
                                {[](uint32_t, uint32_t) { return 0; }, [](uint32_t) { return int64_t{0}; }},
                                {[](uint32_t, uint32_t) { return 0; }, [](uint32_t) { return kSoon; }},
                                {[](uint32_t i, uint32_t) { return i == 0 ? INT32_MAX : INT32_MIN; },
                                 [](uint32_t i) { return -kSoon * (i + 1); }},
                                {[](uint32_t, uint32_t) { return -7; }, [](uint32_t i) { return i == 0 ? kSoon : 0; }}};
    for (uint32_t call = 0; call < kCounts * std::size(patterns); ++call) {
      const uint32_t count = 2 + call % kCounts;
      const Pattern& pattern = patterns[call / kCounts];
      std::vector<deputy_ready_run> ready(count);
      std::vector<const deputy_ready_run*> shown;
      const uint64_t now_ns = plugin->host().ClockNs();
      for (uint32_t i = 0; i < count; ++i) {
        const int64_t deadline_ns = pattern.deadline_ns(i);
        ready[i] = {sizeof(deputy_ready_run), pattern.priority(i, count), compiled->context->handle(),
                    now_ns - i * 1000, deadline_ns == 0 ? 0 : now_ns + static_cast<uint64_t>(deadline_ns)};
        shown.push_back(&ready[i]);
      }
      uint32_t chosen = 0, queue = 0;
      const auto begin = std::chrono::steady_clock::now();
      const Outcome outcome = plugin->Call("choose", [&] {
        return submissions.scheduling()->choose(instance->handle(), shown.data(), count, &chosen, &queue);
      });
      const auto took = std::chrono::steady_clock::now() - begin;
      fastest_ns = std::min(fastest_ns, static_cast<uint64_t>(std::chrono::nanoseconds(took).count()));
      if (!outcome.ok()) return run.Failed("", "choose fails: " + outcome.ToString());
      if (chosen >= count || queue >= before.queue_count)
        return run.Failed("", "choose selects run " + std::to_string(chosen) + " of " + std::to_string(count) +
                                  " on queue " + std::to_string(queue) + " of " + std::to_string(before.queue_count));
    }
    if (fastest_ns > kLongestNs)
      run.Failed("", "choose takes " + std::to_string(fastest_ns / 1000) + " us at best: a host asks it only once");
  }
  run.NoFaults(*plugin, "");
}

}  // namespace

std::vector<Test> AsyncTests(const std::vector<Case>& cases) {
  return {{"async.runs", With(CheckRuns, cases)},
          {"async.overlap", With(CheckOverlap, cases)},
          {"async.threads", With(CheckThreads, cases)},
          {"async.cancel", With(CheckCancel, cases)},
          {"async.full_queue", With(CheckFullQueue, cases)},
          {"async.queues", With(CheckQueues, cases)}};
}

}  // namespace deputy::conformance
