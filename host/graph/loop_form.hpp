// How the values of a Loop or Scan map to those of its body, for inference, the plan and the executor.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.hpp"
#include "graph/graph.hpp"

namespace deputy::host {

// A Loop's node reads [trips, condition, states...], its body [round, condition, states...] and makes
// [condition, states..., elements...]. A Scan's node reads [states..., sequences...], its body [states..., elements...]
// and makes the same. Either node makes [states..., sequences...], with an element of each round.
struct LoopForm {
  bool is_loop = true;
  size_t states = 0, scanned_inputs = 0, scanned_outputs = 0;

  size_t before_inputs() const { return is_loop ? 2 : 0; }   // of the node and of the body
  size_t before_outputs() const { return is_loop ? 1 : 0; }  // of the body
};

// Fails when the counts of inputs and outputs do not match.
Result<LoopForm> LoopFormOf(const Node& node, const Graph& body);

// The axis of a Scan's sequence `i`, and its direction. A Loop always uses the first axis.
struct ScanDirection {
  int64_t axis = 0;
  bool reverse = false;
};
ScanDirection InputDirection(const Node& node, size_t i);
ScanDirection OutputDirection(const Node& node, size_t i);

}  // namespace deputy::host
