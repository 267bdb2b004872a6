// Runs a Loop or a Scan: its body repeatedly, with states that each iteration passes to the next. Memory grows to the
// largest demand and stays, so that later runs allocate nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/cancellation.hpp"
#include "base/memory_budget.hpp"
#include "delegate/delegate.hpp"
#include "graph/loop_form.hpp"

namespace deputy::host {

class Execution;

class LoopExecution {
 public:
  // `node`, `body` and `budget` outlive the object; the caller binds the captures of the body. `budget` may be null.
  static Result<std::unique_ptr<LoopExecution>> Create(const Node& node, Execution& body, MemoryBudget* budget);
  ~LoopExecution();

  // One tensor per input and output of the node, null where it is left out. Outputs are allocated here.
  Status Run(std::span<const deputy_tensor* const> inputs, std::span<deputy_tensor* const> outputs,
             OutputAllocator& allocator, const CancellationToken& token);

 private:
  class Bytes;
  class Held;
  class Collected;

  LoopExecution(const Node& node, Execution& body, const LoopForm& form, MemoryBudget* budget);
  Status RunLoop(std::span<const deputy_tensor* const> inputs, const CancellationToken& token);
  Status RunScan(std::span<const deputy_tensor* const> inputs, const CancellationToken& token);
  Status RunIteration(int64_t iteration, const CancellationToken& token);
  Status WriteOutputs(std::span<deputy_tensor* const> outputs, OutputAllocator& allocator);

  const Node& node_;
  Execution& body_;
  const LoopForm form_;
  MemoryBudget* const budget_;         // null: there is no limit
  std::vector<deputy_tensor> states_;  // as they enter the next iteration
  std::vector<Held> held_;             // two per state: of the last iteration and of this one
  std::vector<Held> elements_;         // of the sequences that a Scan reads
  std::vector<Collected> collected_;   // of the sequences that are written
  size_t turn_ = 0;
};

}  // namespace deputy::host
