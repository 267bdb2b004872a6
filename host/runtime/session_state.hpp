// State of a Session: the execution for the shapes of its last run, the current run, and its requests in flight.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "base/process_fork.hpp"
#include "deputy/model.hpp"
#include "execute/execution.hpp"
#include "runtime/buffer_state.hpp"
#include "runtime/dump.hpp"
#include "runtime/execution_hold.hpp"
#include "runtime/held_states.hpp"
#include "runtime/model_state.hpp"
#include "runtime/request_queue.hpp"
#include "runtime/tensor_binding.hpp"

namespace deputy {

struct Session::State final : host::PlansUser {
  class Hold;
  class Runner;
  class Use;
  // What belongs to plans that are not in force any more; destroyed in the opposite order.
  struct Former {
    std::shared_ptr<host::ModelPlans> plans;
    std::unique_ptr<host::Execution> execution;
    std::shared_ptr<host::PlanDump> dump;
    std::vector<std::shared_ptr<host::DeviceBuffer>> imported;
  };
  // The state of a new session.
  static Result<std::unique_ptr<State>> Make(const std::shared_ptr<Model::State>& model);
  State() = default;
  ~State() override;

  std::shared_ptr<Model::State> model;
  host::ExecutionHold hold;  // of the execution and all that is made with it, where no call has them by in_use
  std::shared_ptr<host::ModelPlans> plans;  // of the execution; null: a reload has taken both
  std::vector<DType> input_types;
  std::vector<Shape> shapes;
  bool has_shapes = false;  // `shapes` are those of an execution
  std::unique_ptr<host::Execution> execution;
  std::shared_ptr<host::PlacementMeasurement> measurement;  // null: the placement is decided
  std::shared_ptr<host::PlanDump> dump;                     // of the execution's plan; null: nothing is dumped
  std::vector<host::ValueView> inputs;                      // of the current run
  std::vector<Tensor> staging;                              // aligned copies of misaligned inputs
  host::OutputBinding binding;
  std::vector<BoundBuffer> bound_inputs, bound_outputs;  // per input and output of the model; empty until one is bound
  // Of bound buffers that are shared, inputs first: the device's name for it; null: none. Empty until the first one.
  std::vector<std::shared_ptr<host::DeviceBuffer>> imported;
  bool has_buffers = false;            // one is bound
  std::vector<BufferUse> buffer_uses;  // of the current run
  host::HeldStates states;
  RunStatistics statistics;
  bool profiling = false, wants_events = false;
  std::vector<RunEvent> events;
  std::vector<host::StepSpan> spans;
  std::vector<uint64_t> busy_ns;  // of the devices before the current run, if it is profiled
  uint64_t begin_ns = 0;          // of the current run
  std::atomic<std::chrono::nanoseconds> timeout{kConfigured};  // of SetTimeout
  std::chrono::nanoseconds time_limit{0};                      // of the current run
  host::LoopSteps loop_steps;                                  // of the current run
  std::shared_ptr<host::MemoryBudget> budget;                  // of the execution; null: there is no limit
  host::CancellationToken stop;                                // of the current run
  std::atomic<host::SessionUse> in_use{host::SessionUse::kFree};
  std::atomic<uint64_t> cancelled_ns{0};  // time at which the current run was cancelled; 0: it was not
  host::CancelHook cancel_hook;           // of the delegate that runs
  host::RunHints hints;                   // with the priority of the current request
  int32_t priority = 0;                   // of the session
  // Of PredictAsync. The request of the current run, if it is one, and whether that was cancelled.
  const host::QueuedRequest* request = nullptr;
  const std::atomic<bool>* request_cancelled = nullptr;
  std::mutex requests_mutex;  // of all below
  size_t most_requests = 4;
  ResultOrder order = ResultOrder::kAsSubmitted;
  uint64_t last_request = 0;                     // of queues before the current one
  std::vector<std::unique_ptr<State>> beside;    // for runs beside those of this one
  std::unique_ptr<host::RequestQueue> requests;  // null until first used
  bool is_ending = false;

  static constexpr std::chrono::nanoseconds kConfigured{-1};

  std::shared_ptr<void> LetGo() override;
  // What the session has of plans that are not in force any more. Only moves pointers. Of the user of the execution, as
  // all below.
  Former TakeFormer();
  // Destroys that.
  void LeaveFormer() {
    if (!model->AreCurrent(plans.get())) (void)TakeFormer();
  }
  // Uses the plans in force.
  void FollowPlans() {
    if (!model->AreCurrent(plans.get())) ChangePlans();
  }
  [[gnu::cold]] void ChangePlans();
  // Uses the plans in force, and prepares for the shapes of the last execution. kFailedPrecondition: there is none.
  Status Renew();
  void SetHints(const host::RunHints& wishes);
  // Of the following runs.
  void SetRunPriority(int32_t wanted);
  // Makes the queue of requests when it is first used. [any-thread]
  Result<uint64_t> Submit(host::QueuedRequest& submitted);
  Status MakeRequests();
  // Changes the settings of requests and ends all of them. Not from a callback.
  void StopRequests(const std::function<void()>& change);
  // The same for a call of this function, kFailedPrecondition in a callback.
  Status ChangeRequests(const char* function, const std::function<void()>& change);
  // Of runs without one of their own; zero: no limit. [any-thread]
  std::chrono::nanoseconds TimeLimit() const;
  Status Predict(const std::vector<Tensor>& wanted, std::vector<Tensor>& outputs);
  // The same with buffers in the place of some of both.
  Status PredictWithBuffers(const std::vector<Tensor>& wanted, std::vector<Tensor>& outputs);
  Status RunWithBuffers(const std::vector<Tensor>& wanted, std::vector<Tensor>& outputs);
  // Shows the bound buffers to the execution, before a run, and copies those inputs that it cannot use.
  Status UseBuffers();
  // Counts and makes a copy of a bound buffer.
  template <class Copy>
  Status CopyBound(Copy&& copy);
  Result<Buffer> MakeBuffer(size_t i, bool is_input);
  Status BindBuffer(size_t i, bool is_input, std::shared_ptr<Buffer::State> buffer);
  // What the device that touches the value can use of a bound buffer; null: host memory.
  std::shared_ptr<host::DeviceBuffer> DeviceBufferOf(size_t i, bool is_input, host::ValueId value);
  size_t ImportedIndex(size_t i, bool is_input) const { return is_input ? i : bound_inputs.size() + i; }
  // Ends the use of a buffer by the execution.
  void Detach(size_t i, bool is_input);
  // Computes the outputs for `inputs`; those that are not tensors are taken by TakeValues.
  Status Run(std::vector<Tensor>& outputs);
  // The run whose tensors are dumped.
  Status RunDumped(std::span<host::StepSpan> watched);
  Status TakeValues(std::vector<ModelValue>& outputs) const;
  // After the outputs were taken: keeps the states, counts the time, measures other placements if that is due.
  Status Finish();
  // Checks the inputs, and makes or finds the execution for their shapes.
  Status TakeInputs();
  Status BindInputs();
  Status Prepare(std::vector<Shape> wanted);
  void CountTime(uint64_t total_ns);
  // Busy time of the device of each delegate, since it was opened; 0 where it is not reported.
  std::vector<uint64_t> BusyTimes() const;
  bool times_steps() const { return profiling || wants_events; }
  // The token of the run that has begun.
  host::CancellationToken BeginStop();
  // Of a run that failed: what to change if it was a limit of time.
  Status WithLimit(Status status) const;
  // Ends the current run, if there is one.
  void Cancel();
};

// The execution, for a run of a request or a short call. Not in a forked child, where a thread of the parent may have
// it for ever.
class Session::State::Hold {
 public:
  explicit Hold(State& state) : state_(state) { state_.hold.Take(); }
  ~Hold() {
    state_.LeaveFormer();
    state_.hold.Return();
  }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

 private:
  State& state_;
};

// One call at a time that computes. Its end is the last access of the call to the session, which waits for it when it
// is destroyed.
class Session::State::Use {
 public:
  explicit Use(State& state) : state_(state) {
    if (host::IsForkedChild()) return;
    host::SessionUse free = host::SessionUse::kFree;
    first_ = state_.in_use.compare_exchange_strong(free, host::SessionUse::kCall);
    if (first_) state_.hold.WaitUntilFree();
  }
  ~Use() {
    if (!first_) return;
    state_.LeaveFormer();
    state_.in_use.store(host::SessionUse::kFree, std::memory_order_release);
  }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;

  Status status() const {
    if (first_) return {};
    DEPUTY_RETURN_IF_ERROR(host::CheckNotForked());
    return host::Error(StatusCode::kFailedPrecondition, "another thread uses the session, or requests are in flight")
        .Advise("use one session per thread");
  }

 private:
  State& state_;
  bool first_ = false;
};

// Of a call for a session without a state.
inline Status NotCreated() {
  return host::Error(StatusCode::kFailedPrecondition, "the session was not created by Model::CreateSession");
}

}  // namespace deputy
