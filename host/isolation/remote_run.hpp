// Runs in a worker process: tensors are copied into memory that both processes share, and outputs back out of it.
#pragma once

#include <cstdint>
#include <vector>

#include "deputy/abi/delegate.h"
#include "isolation/call.hpp"
#include "isolation/remote_delegate.hpp"

namespace deputy::host {

// deputy_delegate.execute
deputy_status* RemoteExecute(deputy_context* self, const deputy_run_args* args);

// The tensors of one run in a channel's memory. Outputs go both ways, so that an element that is not written keeps what
// it holds, as in process.
class RunTransfer {
 public:
  explicit RunTransfer(const deputy_run_args& args) : args_(Whole(args)) {}

  // Copies the tensors and attaches what the worker does not have yet.
  CallResult Prepare(RemoteCall& call, RunForm& form);
  // Copies the outputs of a run that succeeded.
  void Finish(RemoteCall& call) const;

 private:
  // Sets the place of a tensor in the region; `end` is the end of those before it.
  static bool Place(deputy_tensor& tensor, uint64_t& end);
  void Copy(const deputy_tensor* const* originals, size_t first, uint32_t count, uint8_t* base, bool into) const;

  deputy_run_args args_;
  std::vector<deputy_tensor> tensors_;          // inputs, then outputs
  std::vector<const deputy_tensor*> pointers_;  // to these, or NULL
};

// Gives the events of a worker to a sink, which may be null.
void Deliver(const Events& events, const deputy_profile_sink* sink);

}  // namespace deputy::host
