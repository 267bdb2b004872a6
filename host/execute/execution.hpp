// Runs a plan: one session's tensors, arena and contexts. Nothing is allocated, locked or formatted while it runs,
// except for values whose extents are known only then, the first time they grow.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/aligned.hpp"
#include "base/cancellation.hpp"
#include "base/memory_budget.hpp"
#include "plan/plan.hpp"

namespace deputy::host {

// An event of a delegate's device in a step of a plan, which may be that of a region.
struct PlanEvent {
  const Plan* plan = nullptr;
  size_t step = 0;
  size_t root_step = 0;  // of the top-level plan: the step that runs the region, if it is one
  ProfileEvent event;
};

// Copies a value to the place of a value of another plan: bytes are copied, other kinds are shared. A tensor may become
// the element of an optional.
Status StoreValue(deputy_tensor* target, const deputy_tensor& source, OutputAllocator& allocator);

class Execution;

// When a step ran: CLOCK_MONOTONIC, in nanoseconds.
struct StepSpan {
  uint64_t begin_ns = 0, end_ns = 0;
  const Plan* alternative = nullptr;  // that ran it in place of its delegate; null: the delegate did
  uint64_t ns() const { return end_ns - begin_ns; }
};

// Copies of values between host memory and memories of devices that the host makes.
struct CopyCounts {
  uint64_t count = 0, bytes = 0;
};

// A memory, and what a value needs there.
struct DevicePlace {
  std::shared_ptr<DeviceMemory> memory;
  size_t byte_size = 0, alignment = 0;
};

// Sees a run step by step.
class StepObserver {
 public:
  virtual ~StepObserver() = default;
  // The step has succeeded; its outputs are still those that it wrote. An error ends the run.
  virtual Status Ended(const Execution& execution, size_t step) = 0;
};

// A run of a step whose results are to be verified.
struct StepRun {
  const Plan& plan;
  const Step& step;
  // In the order of the step; null where one is left out. `before`: the inputs as they were before the run.
  std::span<const deputy_tensor*const> before, inputs;
  std::span<deputy_tensor* const> outputs;
  OutputAllocator& allocator;  // of the outputs
};

// Where the memory of an execution comes from. What it points at outlives the execution.
struct ExecutionMemory {
  ArenaSource* arenas = nullptr;                   // of plans with steps that run elsewhere; null: the heap
  std::shared_ptr<MemoryBudget> budget = nullptr;  // of all that the execution allocates; null: there is no limit
};

// Why a delegate did not run a step.
struct StepFailure {
  const Status& why;
  bool is_first_of_loss;  // of the runs that one loss of the device has ended
};

// Answers failures of a delegate's steps: implemented by the owner of the plan, which knows the delegates. [any-thread]
class StepFallback {
 public:
  virtual ~StepFallback() = default;
  // An execution of the step's alternative. `why` is the failure; OK where an earlier run of this or another session
  // has demoted the step, or its delegate's device is unavailable.
  virtual Result<std::unique_ptr<Execution>> CreateAlternative(const Plan& plan, const Step& step, const Status& why,
                                                               const ExecutionMemory& memory) = 0;
  // The delegate failed, and the alternative ran in its place with this result.
  virtual void Report(const Plan& plan, const Step& step, const StepFailure& failure, const Status& result) = 0;
  // Compares the results of a run that succeeded with those of the CPU, and replaces wrong ones. An error ends the run.
  virtual Status Verify(const StepRun& run, const CancellationToken& token) = 0;
};

// One thread at a time. Keeps its plan alive. Where steps of the plan may overlap it has a thread for each delegate
// whose runs do.
class Execution {
 public:
  // Without `fallback`, which must outlive the execution, a failure of a step ends the run; with it, only failures of
  // the last delegate, failures of steps that no alternative could run, and the end of `stop` do.
  static Result<std::unique_ptr<Execution>> Create(std::shared_ptr<const Plan> plan, StepFallback* fallback = nullptr,
                                                   ExecutionMemory memory = {});
  ~Execution();
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;

  const Plan& plan() const { return *plan_; }

  // Points a bound slot (graph input, capture or static output) at memory, or at the ModelValue of an input that is not
  // a tensor. It must stay valid during Run.
  void Bind(ValueId value, void* data);
  // The same for an input whose extents the plan does not fix (a capture). kModel if the plan has another type for it.
  Status Bind(ValueId value, const deputy_tensor& tensor);

  // Where a delegate wants an input or output of the graph; none: in host memory.
  std::optional<DevicePlace> PlaceOf(ValueId value, bool is_input);
  // Keeps an input or output of the graph in this buffer from the next run on, in place of the memory that Bind gave
  // it, which is still needed for failures and for readers on the host; null: no longer. False: no delegate that
  // touches it can use the buffer.
  bool BindBuffer(ValueId value, bool is_input, const std::shared_ptr<DeviceBuffer>& buffer);

  // Runs all steps. `stop` is checked before the first step and after each one, so that a run which ends late is never
  // reported as one in time. On an error, such as that of `stop`, the outputs are undefined; the next Run starts from
  // the beginning. `spans`, when given, has one entry per step and receives the time of each. `observer` may be null;
  // with one, the steps run one after another.
  Status Run(const CancellationToken& token = {}, std::span<StepSpan> spans = {}, StepObserver* observer = nullptr);

  // For the following runs, regions included.
  void SetHints(const RunHints& hints);
  // Starts or stops the collection of events by the delegates of all steps, regions included.
  void SetProfiling(bool on);
  // Appends the events since the last call, step by step.
  void TakeEvents(std::vector<PlanEvent>& into);

  // Of a step, its regions and alternative included, since the last call or SetProfiling.
  CopyCounts TakeCopies(size_t step);

  // A value after Run: dtype, extents, bytes; or the result of HeldValue.
  const deputy_tensor& tensor(ValueId value) const { return tensors_[value]; }

 private:
  class Allocator;
  class DeviceValues;
  class OverlappedRun;
  struct BoundStep;

  Execution(std::shared_ptr<const Plan> plan, StepFallback* fallback, ExecutionMemory memory);
  Status Prepare();
  void BindTensors();
  Status CreateContext(BoundStep& step);
  // Contexts that were made since may have other memory of a device.
  void RenewDevices();
  Status Placed(const Status& failure, const Step& step, const CancellationToken& token) const;
  RunArgs ArgsOf(BoundStep& step, Scratch& scratch, const CancellationToken& token);
  Status RunOnce(const CancellationToken& token, std::span<StepSpan> spans, StepObserver* observer);
  Status RunStep(BoundStep& step, const CancellationToken& token, const CancellationScope& scope);
  // Whether the delegate of a step that others could run is to run it.
  bool DelegateRuns(BoundStep& step) const;
  // Runs the delegate of the step, with copies to and from its device.
  Status RunDelegate(BoundStep& step, const RunArgs& args, const CancellationScope& scope);
  Status RunOnDevice(BoundStep& step, const RunArgs& args, const CancellationScope& scope);
  // The delegate is to run the step.
  Status RunOwn(BoundStep& step, const CancellationToken& token, const CancellationScope& scope);
  // `failure`: that it answers; OK: an earlier one.
  Status RunAlternative(BoundStep& step, const Status& failure, const CancellationToken& token);
  Status AnswerFailure(BoundStep& step, const Status& failure, const RunArgs& args, const CancellationScope& scope);
  bool HasImports(const BoundStep& step) const;
  Status RunVerified(BoundStep& step, const RunArgs& args, const CancellationScope& scope);
  Status TakeOutputs(BoundStep& step, const Execution& from);
  Status RunRegions(BoundStep& step, const CancellationToken& token);
  Status RunBranch(BoundStep& step, const CancellationToken& token);
  Status BindCaptures(BoundStep& step, size_t region);

  const std::shared_ptr<const Plan> plan_;
  StepFallback* const fallback_;
  const ExecutionMemory memory_;
  bool profiling_ = false;
  std::shared_ptr<uint8_t> arena_;
  std::vector<deputy_tensor> tensors_;  // per value
  std::unique_ptr<OutputAllocator> allocator_;
  Scratch scratch_;
  RunHints hints_;
  std::vector<const deputy_tensor*> step_inputs_;  // of all steps, one after the other
  std::vector<deputy_tensor*> step_outputs_;
  std::vector<BoundStep> steps_;
  std::unique_ptr<DeviceValues> devices_;      // null: all values are in host memory
  bool has_new_contexts_ = false;              // made after `devices_`, with memory of a device
  std::unique_ptr<OverlappedRun> overlapped_;  // null: the steps run one after another
};

}  // namespace deputy::host
