// What a session holds from one run to the next for the states of its model: per state the value that the next run
// begins with, and memory for the value that it leaves. A run that fails changes nothing.
#pragma once

#include <cstdint>
#include <vector>

#include "deputy/tensor.hpp"
#include "execute/execution.hpp"

namespace deputy::host {

// [one-thread]
class HeldStates {
 public:
  // The first values.
  Status Begin(const Graph& graph);
  // For another plan of the same model. An error changes nothing.
  Status Attach(const Plan& plan);

  // Before a run.
  void Bind(Execution& execution);
  // After one that ended well: its states are those that the next begins with.
  Status Keep(const Execution& execution);

 private:
  struct Held {
    Tensor now, next;
    bool in_place = false;  // the plan writes `next` itself
  };

  std::vector<Held> held_;
};

}  // namespace deputy::host
