// deputy::Session: requests in flight.
#include <algorithm>
#include <future>
#include <new>
#include <utility>

#include "base/process_fork.hpp"
#include "runtime/session_state.hpp"

namespace deputy {

using host::Error;

// Computes requests with the state of a session, which outlives it.
class Session::State::Runner final : public host::RequestRunner {
 public:
  explicit Runner(State& state) : state_(state) {}
  void Run(host::QueuedRequest& taken, const std::atomic<bool>& cancelled) override {
    const Hold held(state_);
    state_.request = &taken;
    state_.request_cancelled = &cancelled;
    state_.SetRunPriority(taken.priority);
    try {
      taken.result.status = state_.Predict(taken.result.inputs, taken.result.outputs);
    } catch (const std::bad_alloc&) {
      taken.result.status = Status(StatusCode::kResourceExhausted, "no memory for the request");
    }
    state_.SetRunPriority(state_.priority);
    state_.request = nullptr;
    state_.request_cancelled = nullptr;
  }
  void Cancel() override { state_.Cancel(); }

 private:
  State& state_;
};

void Session::State::SetHints(const host::RunHints& wishes) {
  const Hold held(*this);
  hints = wishes;
  priority = wishes.priority;
  if (execution != nullptr) execution->SetHints(hints);
}

void Session::State::SetRunPriority(int32_t wanted) {
  if (hints.priority == wanted) return;
  hints.priority = wanted;
  if (execution != nullptr) execution->SetHints(hints);
}

Status Session::State::MakeRequests() {
  std::vector<std::unique_ptr<host::RequestRunner>> runners;
  runners.push_back(std::make_unique<Runner>(*this));
  const size_t most_runs = states.any() || has_buffers ? 1 : most_requests;
  while (beside.size() + 1 < most_runs) {
    DEPUTY_ASSIGN_OR_RETURN(std::unique_ptr<State> made, Make(model));
    made->SetHints(hints);
    beside.push_back(std::move(made));
  }
  beside.resize(most_runs - 1);
  for (const std::unique_ptr<State>& other : beside) runners.push_back(std::make_unique<Runner>(*other));
  DEPUTY_ASSIGN_OR_RETURN(requests,
                          host::RequestQueue::Start(std::move(runners), most_requests, order, in_use, last_request));
  return {};
}

Result<uint64_t> Session::State::Submit(host::QueuedRequest& submitted) {
  const std::lock_guard lock(requests_mutex);
  if (is_ending) return Error(StatusCode::kFailedPrecondition, "the session is being destroyed");
  if (requests == nullptr) DEPUTY_RETURN_IF_ERROR(MakeRequests());
  return requests->Submit(submitted);
}

void Session::State::StopRequests(const std::function<void()>& change) {
  std::unique_ptr<host::RequestQueue> stopped;
  {
    const std::lock_guard lock(requests_mutex);
    change();
    stopped = std::move(requests);
    if (stopped != nullptr) last_request = stopped->last_number();
  }
}

Status Session::State::ChangeRequests(const char* function, const std::function<void()>& change) {
  {
    const std::lock_guard lock(requests_mutex);
    if (requests != nullptr && requests->calls_back())
      return Error(StatusCode::kFailedPrecondition, "{} was called from a callback", function);
  }
  StopRequests(change);
  return {};
}

Result<uint64_t> Session::PredictAsync(std::vector<Tensor>&& inputs, PredictCallback done, RequestOptions&& options) {
  if (state_ == nullptr) return NotCreated();
  if (done == nullptr) return Error(StatusCode::kInvalidArgument, "done must not be empty");
  DEPUTY_RETURN_IF_ERROR(host::CheckNotForked());
  host::QueuedRequest request;
  request.result.inputs = std::move(inputs);
  request.result.outputs = std::move(options.outputs);
  request.done = std::move(done);
  const std::chrono::nanoseconds timeout = options.timeout.count() < 0 ? state_->TimeLimit() : options.timeout;
  request.timeout_ns = static_cast<uint64_t>(std::max<int64_t>(0, timeout.count()));
  request.priority = options.priority.value_or(state_->priority);
  Result<uint64_t> number = state_->Submit(request);
  if (number.ok()) return number;
  inputs = std::move(request.result.inputs);
  options.outputs = std::move(request.result.outputs);
  return std::move(number).status().At(state_->model->name);
}

Result<std::future<PredictResult>> Session::PredictAsync(std::vector<Tensor>&& inputs, RequestOptions&& options) {
  auto promise = std::make_shared<std::promise<PredictResult>>();
  std::future<PredictResult> future = promise->get_future();
  const Result<uint64_t> number = PredictAsync(
      std::move(inputs), [promise](PredictResult&& result) { promise->set_value(std::move(result)); },
      std::move(options));
  if (!number.ok()) return number.status();
  return future;
}

Status Session::SetInFlight(size_t most, ResultOrder order) {
  constexpr size_t kMost = 1024;
  if (state_ == nullptr) return NotCreated();
  if (most == 0 || most > kMost)
    return Error(StatusCode::kInvalidArgument, "{} requests in flight, expected 1 to {}", most, kMost);
  const State::Use use(*state_);
  DEPUTY_RETURN_IF_ERROR(use.status());
  return state_->ChangeRequests("SetInFlight", [&] {
    state_->most_requests = most;
    state_->order = order;
  });
}

void Session::CancelRequest(uint64_t request) {
  if (state_ == nullptr || !host::CheckNotForked().ok()) return;
  const std::lock_guard lock(state_->requests_mutex);
  if (state_->requests != nullptr) state_->requests->Cancel(request);
}

}  // namespace deputy
