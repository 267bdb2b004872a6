// Runs of several contexts that overlap as closely as possible: each thread does nothing between two runs but to
// compare the bytes of the results with those of a run that was alone.
#pragma once

#include <chrono>
#include <deque>
#include <string>
#include <vector>

#include "shown_model.hpp"

namespace deputy::conformance {

class OverlappingRuns {
 public:
  // A further thread; the arguments must outlive the runs.
  void Add(const ShownModel& shown, const Claim& claim, Context& context);
  // Runs until each thread has run `most` times or the time has passed; "" if all results are right. Results that
  // differ from those of the run alone may do so within the tolerance.
  std::string Fault(deputy_dtype computes_in, int most, std::chrono::milliseconds time);

 private:
  struct Lane {
    const ShownModel& shown;
    const Claim& claim;
    Context& context;
    Binding binding;
    std::vector<std::vector<uint8_t>> alone;

    Lane(const ShownModel& values, const Claim& bound, Context& runs)
        : shown(values), claim(bound), context(runs), binding(shown, claim, Flush::kEnd, kPoison) {}
    std::string FaultAlone(deputy_dtype computes_in);
    std::string FaultBesideOthers(deputy_dtype computes_in);
  };
  std::deque<Lane> lanes_;
};

}  // namespace deputy::conformance
