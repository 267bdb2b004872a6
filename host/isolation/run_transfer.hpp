// The tensors of one run in a worker process: inputs are read where they are if the worker has that memory, and copied
// into memory that both processes share otherwise; outputs are copied out of it.
#pragma once

#include <cstdint>
#include <vector>

#include "deputy/abi/delegate.h"
#include "isolation/call.hpp"

namespace deputy::host {

// Where the inputs of the last run were found, for the next one with the same pointers.
struct KnownPlaces {
  struct Input {
    const void* data = nullptr;
    uint64_t size = 0, place = 0;
  };
  uint64_t generation = 0;
  std::vector<Input> inputs;
};

// The arguments that a context's worker has from an earlier run, without what every run is told.
class KnownRun {
 public:
  bool Matches(const deputy_run_args& args) const;
  // After a run whose arguments the worker has taken.
  void Remember(const deputy_run_args& args);

 private:
  bool known_ = false;
  uint32_t struct_size_ = 0, flags_ = 0, inputs_ = 0;
  bool has_allocator_ = false;
  uint64_t scratch_size_ = 0;
  std::vector<deputy_tensor> tensors_;  // inputs, then outputs; of size 0 where left out
  std::vector<int64_t> dims_;           // of all of them
};

// Elements of outputs that the worker does not write are undefined, unless KeptOutputs are wanted.
class RunTransfer {
 public:
  explicit RunTransfer(const deputy_run_args& args) : args_(Whole(args)) {}

  const deputy_run_args& args() const { return args_; }

  // Finds the inputs that the worker can read where they are. Before the call: a region that it does not have yet is
  // sent in a call of its own.
  void Find(WorkerLink& link, KnownPlaces& known, const CallDeadline& limit);
  // Copies the other inputs and attaches the descriptor that the worker does not have yet.
  CallResult Prepare(RemoteCall& call);
  // The message, which this must outlive.
  void Fill(RunForm& form);
  void Fill(RunAgainForm& form) const;
  // Copies the outputs of a run that succeeded.
  void Finish(RemoteCall& call) const;

 private:
  size_t count() const { return size_t{args_.input_count} + args_.output_count; }
  const deputy_tensor* tensor(size_t at) const {
    return at < args_.input_count ? args_.inputs[at] : args_.outputs[at - args_.input_count];
  }
  uint8_t* Own(const SharedRegion& region, size_t at) const;

  const deputy_run_args args_;
  std::vector<uint64_t> places_;  // inputs, then outputs
  uint64_t scratch_ = 0, region_size_ = 0;
  std::vector<deputy_tensor> tensors_;          // for a message
  std::vector<const deputy_tensor*> pointers_;  // to these, or NULL
};

}  // namespace deputy::host
