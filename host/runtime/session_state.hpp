// State of a Session: the execution for the shapes of its last run, the current run, and its requests in flight.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/process_fork.hpp"
#include "deputy/model.hpp"
#include "execute/execution.hpp"
#include "runtime/buffer_state.hpp"
#include "runtime/dump.hpp"
#include "runtime/held_states.hpp"
#include "runtime/model_state.hpp"
#include "runtime/request_queue.hpp"
#include "runtime/tensor_binding.hpp"

namespace deputy {

struct Session::State {
  class Runner;
  // The state of a new session.
  static Result<std::unique_ptr<State>> Make(const std::shared_ptr<Model::State>& model);

  std::shared_ptr<Model::State> model;
  std::vector<DType> input_types;
  std::vector<Shape> shapes;
  std::unique_ptr<host::Execution> execution;
  std::shared_ptr<host::PlacementMeasurement> measurement;  // null: the placement is decided
  std::shared_ptr<host::PlanDump> dump;                     // of the execution's plan; null: nothing is dumped
  std::vector<host::ValueView> inputs;                      // of the current run
  std::vector<Tensor> staging;                              // aligned copies of misaligned inputs
  host::OutputBinding binding;
  std::vector<BoundBuffer> bound_inputs, bound_outputs;  // per input and output of the model; empty until one is bound
  bool has_buffers = false;                              // one is bound
  std::vector<BufferUse> buffer_uses;                    // of the current run
  host::HeldStates states;
  RunStatistics statistics;
  bool profiling = false, wants_events = false;
  std::vector<RunEvent> events;
  std::vector<host::StepSpan> spans;
  std::vector<uint64_t> busy_ns;  // of the devices before the current run, if it is profiled
  uint64_t begin_ns = 0;          // of the current run
  std::chrono::nanoseconds timeout{0};
  bool timeout_is_configured = true;           // false: SetTimeout has set it
  host::LoopSteps loop_steps;                  // of the current run
  std::shared_ptr<host::MemoryBudget> budget;  // of the execution; null: there is no limit
  host::CancellationToken stop;                // of the current run
  std::atomic<bool> in_use{false};             // by a call that computes
  std::atomic<uint64_t> cancelled_ns{0};       // time at which the current run was cancelled; 0: it was not
  host::CancelHook cancel_hook;                // of the delegate that runs
  host::RunHints hints;                        // with the priority of the current request
  int32_t priority = 0;                        // of the session
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
  // From the current call or request on; zero: no limit.
  std::chrono::nanoseconds Limit() const;
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
  // What the device that touches the value can use of a buffer; null: host memory.
  std::shared_ptr<host::DeviceBuffer> DeviceBufferOf(BoundBuffer& bound, host::ValueId value, bool is_input);
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

// One call at a time that computes. Its end is the last access of the call to the session, which waits for it when it
// is destroyed.
class Use {
 public:
  explicit Use(std::atomic<bool>& in_use)
      : in_use_(in_use), first_(!in_use.exchange(true, std::memory_order_acquire)) {}
  ~Use() {
    if (first_) in_use_.store(false, std::memory_order_release);
  }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;

  Status status() const {
    if (!first_)
      return host::Error(StatusCode::kFailedPrecondition, "another thread uses the session, or requests are in flight")
          .Advise("use one session per thread");
    return host::CheckNotForked();
  }

 private:
  std::atomic<bool>& in_use_;
  bool first_;
};

// Of a call for a session without a state.
inline Status NotCreated() {
  return host::Error(StatusCode::kFailedPrecondition, "the session was not created by Model::CreateSession");
}

}  // namespace deputy
