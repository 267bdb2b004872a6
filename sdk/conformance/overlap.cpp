#include "overlap.hpp"

#include <atomic>
#include <mutex>
#include <thread>

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
  std::vector<std::thread> threads;
  for (Lane& lane : lanes_)
    threads.emplace_back([&, this, one = &lane] {
      ++ready;
      while (ready < lanes_.size()) std::this_thread::yield();
      const auto until = std::chrono::steady_clock::now() + time;
      for (int i = 0; i < most && !ends && std::chrono::steady_clock::now() < until; ++i) {
        const std::string wrong = one->FaultBesideOthers(computes_in);
        if (wrong.empty()) continue;
        const std::lock_guard lock(mutex);
        if (first_wrong.empty()) first_wrong = wrong;
        ends = true;
      }
    });
  for (std::thread& thread : threads) thread.join();
  return first_wrong;
}

}  // namespace deputy::conformance
