// Runs a Loop or a Scan: its body again and again, what one round leaves entering the next. Memory grows to the largest
// demand and stays, so that later runs allocate nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/stop.hpp"
#include "delegate/delegate.hpp"
#include "graph/repetition.hpp"

namespace deputy::host {

class Execution;

class Repetition {
 public:
  // `node` and `body` outlive the object; the captures of the body are bound by whoever runs this.
  static Result<std::unique_ptr<Repetition>> Create(const Node& node, Execution& body);
  ~Repetition();

  // One tensor per input and output of the node, null where it is left out. Outputs are allocated here.
  Status Run(std::span<const deputy_tensor* const> inputs, std::span<deputy_tensor* const> outputs,
             OutputAllocator& allocator, const Stop& stop);

 private:
  class Held;
  class Collected;

  Repetition(const Node& node, Execution& body, const RepetitionForm& form);
  Status RunLoop(std::span<const deputy_tensor* const> inputs, const Stop& stop);
  Status RunScan(std::span<const deputy_tensor* const> inputs, const Stop& stop);
  Status RunRound(const Stop& stop);
  Status WriteOutputs(std::span<deputy_tensor* const> outputs, OutputAllocator& allocator);

  const Node& node_;
  Execution& body_;
  const RepetitionForm form_;
  std::vector<deputy_tensor> states_;  // as they enter the next round
  std::vector<Held> held_;             // two per state: of the last round and of this one
  std::vector<Held> elements_;         // of the sequences that a Scan reads
  std::vector<Collected> collected_;   // of the sequences that are made
  size_t turn_ = 0;
};

}  // namespace deputy::host
