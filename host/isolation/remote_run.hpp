// Runs in a worker process: inputs are read where they are if the worker has that memory, and copied into memory that
// both processes share otherwise; outputs are copied out of it.
#pragma once

#include <cstdint>
#include <vector>

#include "deputy/abi/delegate.h"
#include "isolation/call.hpp"
#include "isolation/remote_delegate.hpp"

namespace deputy::host {

// deputy_delegate.execute
deputy_status* RemoteExecute(deputy_context* self, const deputy_run_args* args);

// The tensors of one run, for the worker. Elements of outputs that it does not write are undefined, unless KeptOutputs
// are wanted.
class RunTransfer {
 public:
  explicit RunTransfer(const deputy_run_args& args) : args_(Whole(args)) {}

  // Finds the inputs that the worker can read where they are. Before the call: a region that it does not have yet is
  // sent in a call of its own.
  void Find(WorkerLink& link, KnownPlaces& known);
  // Copies the other inputs and attaches the descriptor that the worker does not have yet.
  CallResult Prepare(RemoteCall& call, RunForm& form);
  // Copies the outputs of a run that succeeded.
  void Finish(RemoteCall& call) const;

 private:
  uint8_t* Own(const SharedRegion& region, size_t tensor) const;
  bool Place(const deputy_tensor* const* tensors, uint32_t count, uint64_t& end);

  deputy_run_args args_;
  std::vector<uint64_t> found_;                 // per input: its place outside of the channel, or 0
  std::vector<deputy_tensor> tensors_;          // inputs, then outputs
  std::vector<const deputy_tensor*> pointers_;  // to these, or NULL
};

// Gives the events of a worker to a sink, which may be null.
void Deliver(const Events& events, const deputy_profile_sink* sink);

}  // namespace deputy::host
