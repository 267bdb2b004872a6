// The states of a model that a session holds between runs: per state the value at the start of the next run, and memory
// for the value that it writes. A run that fails changes nothing.
#pragma once

#include <cstdint>
#include <vector>

#include "deputy/tensor.hpp"
#include "execute/execution.hpp"

namespace deputy::host {

// [one-thread]
class HeldStates {
 public:
  bool any() const { return !held_.empty(); }
  // Sets the initial values.
  Status Begin(const Graph& graph);
  // For another plan of the same model. An error changes nothing.
  Status Attach(const Plan& plan);

  // Before a run.
  void Bind(Execution& execution);
  // After a successful run: its states become those of the next run.
  Status Keep(const Execution& execution);

 private:
  struct Held {
    Tensor now, next;
    bool in_place = false;  // the plan writes `next` itself
  };

  std::vector<Held> held_;
};

}  // namespace deputy::host
