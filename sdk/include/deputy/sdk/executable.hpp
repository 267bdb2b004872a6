// A compiled partition and a session's state for it. An executable is immutable and shared by all sessions; each
// session makes a context from it and runs that. Functions with a default are optional; a delegate declares in
// kExtensions which of them the host may request.
#pragma once

#include <memory>

#include "deputy/abi/ext/resize.h"
#include "deputy/sdk/blob.hpp"
#include "deputy/sdk/device_memory.hpp"
#include "deputy/sdk/profiling.hpp"
#include "deputy/sdk/status.hpp"
#include "deputy/sdk/submitted_run.hpp"
#include "deputy/sdk/tensor_view.hpp"

namespace deputy::sdk {

// New shapes, in the order of the partition's inputs and outputs. The tensors have no data.
class ResizeArgs {
 public:
  explicit ResizeArgs(const deputy_resize_args& args) : args_(args) {}

  size_t input_count() const { return args_.input_count; }
  size_t output_count() const { return args_.output_count; }
  TensorView input(size_t index) const { return TensorView(args_.inputs[index]); }
  TensorView output(size_t index) const { return TensorView(args_.outputs[index]); }

 private:
  const deputy_resize_args& args_;
};

enum class ResizeOutcome : uint32_t {
  kDone = DEPUTY_RESIZE_DONE,           // Execute is called with these shapes from now on
  kRecompile = DEPUTY_RESIZE_RECOMPILE  // the nodes run here, compiled for these shapes; the context is as before
};

class ExecutionContext {
 public:
  virtual ~ExecutionContext() = default;
  // Reads the inputs, writes every element of the outputs. One call at a time per context; different contexts run in
  // parallel unless the delegate's kFlags say DEPUTY_DELEGATE_SERIAL.
  virtual Status Execute(const RunArgs& args) = 0;
  // Memory of the host that a run needs and no other run reads: RunArgs::scratch(). Asked when the context is made and
  // after each resize.
  virtual size_t scratch_bytes() const { return 0; }
  // The run that is under way should end: for devices that wait in their driver; others test RunArgs::cancelled().
  // Returns at once. [any-thread]
  virtual void Cancel() {}

  // With kAsync, which the host uses in place of Execute: begins a run, which ends when its End is called, and returns.
  // After a failure the run has not begun, and End is not called; kUnavailable: the queue is full. [one call per
  // context]
  virtual Status Submit(SubmittedRun&) { return Status(Code::kNotSupported, "runs end before they return"); }

  // With kResizes. After a failure the context is as it was. kNotSupported: the host places the model again.
  virtual Result<ResizeOutcome> Resize(const ResizeArgs&) {
    return Status(Code::kNotSupported, "made for one set of shapes");
  }

  // With kMemory: where the index-th of the inputs, then outputs, should be. A run may bring each of them in host
  // memory nonetheless. Asked when the context is made and after each resize.
  virtual MemoryWish WishOf(size_t) { return {}; }

  // With kProfiles. Events may be reported to profiler() while Execute runs, or here, once after each Execute.
  virtual Status CollectEvents(const Profiler&) { return {}; }
  // True while this context is profiled.
  const Profiler& profiler() const { return profiler_; }

  // For the layer.
  void SetProfiler(Profiler profiler) { profiler_ = profiler; }

 private:
  Profiler profiler_;
};

class Executable {
 public:
  virtual ~Executable() = default;
  // [any-thread] Contexts are destroyed before their executable.
  virtual Result<std::unique_ptr<ExecutionContext>> CreateContext() = 0;
  // The same for devices with priorities: that of the context's runs, larger is more urgent, 0 is the default.
  virtual Result<std::unique_ptr<ExecutionContext>> CreatePrioritizedContext([[maybe_unused]] int32_t priority) {
    return CreateContext();
  }

  // With kBlobs: writes the data for Restore. Numbers of nodes and values are not valid there. kNotSupported: this
  // executable is compiled each time. [any-thread]
  virtual Status Serialize(BlobWriter&) const { return Status(Code::kNotSupported, "cannot be serialized"); }

  // With kProfiles: maps the ids of events to nodes of the partition. [any-thread]
  virtual Status DescribeEvents(DebugMap&) const { return {}; }
};

}  // namespace deputy::sdk
