// Runs that a delegate begins and ends by itself (ext/draft/async.h), and the limits of its queues
// (ext/draft/scheduling.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "deputy/abi/ext/draft/scheduling.h"
#include "deputy/sdk/status.hpp"
#include "deputy/sdk/tensor_view.hpp"

namespace deputy::sdk {

// A run from ExecutionContext::Submit to End. The layer owns it.
class SubmittedRun {
 public:
  // Valid until End, with its tensors.
  virtual const RunArgs& args() const = 0;
  // Of the device's queues, below QueueLimits::queues.
  virtual uint32_t queue() const = 0;
  virtual int32_t priority() const = 0;  // larger is more urgent
  // The run has ended: after success every element of the outputs is written. Once, from any thread, perhaps before
  // Submit returns; afterwards nothing of the run may be used, and neither may this.
  virtual void End(Status status) = 0;

 protected:
  ~SubmittedRun() = default;
};

// How much of a delegate's work may be on its device at once.
struct QueueLimits {
  uint32_t queues = 1;          // that run beside each other
  uint32_t runs_in_flight = 1;  // submitted and not ended, over all queues
  uint32_t runs_per_context = 1;
  std::string_view exclusive_group =
      {};  // delegates with the same text never run at once; lives as long as the delegate
};

// The next of the runs that wait, by its index, and the queue for it.
struct QueueChoice {
  size_t run = 0;
  uint32_t queue = 0;
};

}  // namespace deputy::sdk
