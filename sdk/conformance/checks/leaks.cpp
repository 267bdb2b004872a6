// Resources must not grow when each phase of the life cycle is run many times: memory, descriptors, threads.
#include <algorithm>
#include <cstdint>
#include <functional>

#include "case_run.hpp"
#include "surroundings.hpp"
#include "test.hpp"

namespace deputy::conformance {
namespace {

constexpr int kWarmUp = 12, kRounds = 24, kWindows = 12;

// Runs windows of rounds; a resource that grows in each of them leaks. Caches of the plugin, of its libraries and of
// malloc fill at first, so that one window without growth is enough.
void Watch(TestRun& run, const char* activity, const std::function<bool()>& round) {
  for (int i = 0; i < kWarmUp; ++i)
    if (!round()) return;
  int64_t least_bytes = INT64_MAX, least_descriptors = INT64_MAX, least_threads = INT64_MAX;
  for (int window = 0; window < kWindows; ++window) {
    const Usage before = Usage::Take();
    for (int i = 0; i < kRounds; ++i)
      if (!round()) return;
    const Usage after = Usage::Take();
    const auto grown = [](size_t a, size_t b) { return static_cast<int64_t>(b) - static_cast<int64_t>(a); };
    least_bytes = std::min(least_bytes, grown(before.bytes, after.bytes));
    least_descriptors = std::min(least_descriptors, grown(before.descriptors, after.descriptors));
    least_threads = std::min(least_threads, grown(before.threads, after.threads));
    if (least_bytes <= 0 && least_descriptors <= 0 && least_threads <= 0) return;
  }
  const std::string per = std::string(" per ") + activity;
  // Growth below the smallest heap block per round is a cache that still fills.
  if (least_bytes >= 16 * kRounds)
    run.Failed("", "about " + std::to_string(least_bytes / kRounds) + " bytes of memory are lost" + per);
  if (least_descriptors >= kRounds / 2)
    run.Failed("",
               "about " + std::to_string((least_descriptors + kRounds / 2) / kRounds) + " descriptors are lost" + per);
  if (least_threads >= kRounds / 2)
    run.Failed("", "about " + std::to_string((least_threads + kRounds / 2) / kRounds) + " threads are left" + per);
}

void CheckOpen(TestRun& run) {
  const std::unique_ptr<Plugin> plugin = run.Load();
  if (plugin == nullptr) return;
  Watch(run, "open and close", [&] { return run.Open(*plugin) != nullptr; });
}

void CheckCompile(TestRun& run, const std::vector<Case>& cases) {
  const OpenedCase opened = OpenAnyCase(run, cases);
  if (!opened.compiled) return;
  Watch(run, "compile and destroy", [&] {
    Answer refusal;
    Outcome outcome;
    const std::optional<Claim> claim = opened.instance->ClaimAll(opened.compiled->shown->graph, &refusal);
    if (claim && opened.instance->Compile(opened.compiled->shown->graph, *claim, &outcome) != nullptr) return true;
    run.Failed("", "the same node is refused when it is compiled again: " + outcome.ToString());
    return false;
  });
}

// Claims that are not adopted.
void CheckClaims(TestRun& run, const std::vector<ModelCase>& models) {
  const OpenedPlugin opened = run.LoadAndOpen();
  Instance* const instance = opened.instance.get();
  if (instance == nullptr) return;
  if (!instance->proposes()) return run.Skipped("it does not form partitions of its own");
  std::vector<std::unique_ptr<ModelGraph>> shown;
  for (const ModelCase& model : models) shown.push_back(std::make_unique<ModelGraph>(model));
  Watch(run, "proposal and refusal", [&] {
    for (const auto& model : shown)
      for (Claim& claim : instance->Propose(model->graph)) instance->Release(claim);
    return true;
  });
}

void CheckContext(TestRun& run, const std::vector<Case>& cases) {
  const OpenedCase opened = OpenAnyCase(run, cases);
  if (!opened.compiled) return;
  Watch(run, "context", [&] {
    std::string why_not;
    if (opened.compiled->executable->CreateContext(&why_not) != nullptr) return true;
    run.Failed("", "no further context: " + why_not);
    return false;
  });
}

void CheckExecute(TestRun& run, const std::vector<Case>& cases) {
  const OpenedCase opened = OpenAnyCase(run, cases);
  if (!opened.compiled) return;
  Binding binding(*opened.compiled->shown, opened.compiled->claim, Flush::kEnd, kPoison);
  Watch(run, "run", [&] {
    const Outcome outcome = binding.Run(*opened.compiled->context);
    if (!outcome.ok()) run.Failed("", "execute failed: " + outcome.ToString());
    return outcome.ok();
  });
  run.CheckStatuses(*opened.plugin);
}

}  // namespace

std::vector<Test> LeakTests(const std::vector<Case>& cases, const std::vector<ModelCase>& models) {
  return {{"leaks.open", CheckOpen},
          {"leaks.compile", With(CheckCompile, cases)},
          {"leaks.claims", With(CheckClaims, models)},
          {"leaks.context", With(CheckContext, cases)},
          {"leaks.execute", With(CheckExecute, cases)}};
}

}  // namespace deputy::conformance
