#include "overlap.hpp"

#include <atomic>
#include <mutex>
#include <thread>

#include "threads.hpp"

namespace deputy::conformance {

void OverlappingRuns::Add(const ShownModel& shown, const Claim& claim, Context& context) {
  lanes_.emplace_back(shown, claim, context);
}

std::string OverlappingRuns::Lane::FaultAlone(deputy_dtype computes_in) {
  const Outcome outcome = binding.Run(context);
  if (!outcome.ok()) return "execute failed: " + outcome.ToString();
  alone = binding.Results();
  return FaultOfValues(shown, claim, alone, computes_in);
}

std::string OverlappingRuns::Lane::FaultBesideOthers(deputy_dtype computes_in) {
  const Outcome outcome = binding.Run(context);
  if (!outcome.ok()) return "execute failed: " + outcome.ToString();
  return binding.Holds(alone) ? "" : FaultOfValues(shown, claim, binding.Results(), computes_in);
}

std::string OverlappingRuns::Fault(deputy_dtype computes_in, int most, std::chrono::milliseconds time) {
  for (Lane& lane : lanes_)
    if (const std::string wrong = lane.FaultAlone(computes_in); !wrong.empty()) return wrong;
  std::mutex mutex;
  std::string first_wrong;
  std::atomic<size_t> ready{0};
  std::atomic<bool> ends{false};
  Threads threads;
  for (Lane& lane : lanes_) {
    const bool started = threads.Start([&, this, one = &lane] {
      ++ready;
      while (ready < lanes_.size() && !ends) std::this_thread::yield();
      const auto until = std::chrono::steady_clock::now() + time;
      for (int i = 0; i < most && !ends && std::chrono::steady_clock::now() < until; ++i) {
        const std::string wrong = one->FaultBesideOthers(computes_in);
        if (wrong.empty()) continue;
        const std::lock_guard lock(mutex);
        if (first_wrong.empty()) first_wrong = wrong;
        ends = true;
      }
    });
    if (started) continue;
    ends = true;
    break;
  }
  threads.Join();
  return threads.why_not().empty() ? first_wrong : threads.why_not();
}

}  // namespace deputy::conformance
