// deputy::Session: requests in flight.
#include <algorithm>
#include <future>
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
    state_.request = &taken;
    state_.request_cancelled = &cancelled;
    taken.result.status = state_.Predict(taken.result.inputs, taken.result.outputs);
    state_.request = nullptr;
    state_.request_cancelled = nullptr;
  }
  void Cancel() override { state_.Cancel(); }

 private:
  State& state_;
};

Result<host::RequestQueue*> Session::State::Requests() {
  const std::lock_guard lock(requests_mutex);
  if (is_ending) return Error(StatusCode::kFailedPrecondition, "the session is being destroyed");
  if (requests != nullptr) return requests.get();
  std::vector<std::unique_ptr<host::RequestRunner>> runners;
  runners.push_back(std::make_unique<Runner>(*this));
  const size_t most_runs = states.any() ? 1 : most_requests;
  while (beside.size() + 1 < most_runs) {
    DEPUTY_ASSIGN_OR_RETURN(std::unique_ptr<State> made, Make(model));
    made->hints = hints;
    if (made->execution != nullptr) made->execution->SetHints(hints);
    beside.push_back(std::move(made));
  }
  beside.resize(most_runs - 1);
  for (const std::unique_ptr<State>& other : beside) runners.push_back(std::make_unique<Runner>(*other));
  DEPUTY_ASSIGN_OR_RETURN(requests, host::RequestQueue::Start(std::move(runners), most_requests, order, in_use));
  return requests.get();
}

void Session::State::StopRequests(bool for_good) {
  std::unique_ptr<host::RequestQueue> stopped;
  {
    const std::lock_guard lock(requests_mutex);
    is_ending = for_good;
    stopped = std::move(requests);
  }
}

Result<uint64_t> Session::PredictAsync(std::vector<Tensor>&& inputs, PredictCallback done, RequestOptions&& options) {
  if (state_ == nullptr) return NotCreated();
  if (done == nullptr) return Error(StatusCode::kInvalidArgument, "done must not be empty");
  DEPUTY_RETURN_IF_ERROR(host::CheckNotForked());
  DEPUTY_ASSIGN_OR_RETURN(host::RequestQueue* const requests, state_->Requests());
  host::QueuedRequest request;
  request.result.inputs = std::move(inputs);
  request.result.outputs = std::move(options.outputs);
  request.done = std::move(done);
  const std::chrono::nanoseconds timeout = options.timeout.count() < 0 ? state_->timeout : options.timeout;
  request.timeout_ns = static_cast<uint64_t>(std::max<int64_t>(0, timeout.count()));
  Result<uint64_t> number = requests->Submit(request);
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
  if (state_ == nullptr) return NotCreated();
  if (most == 0) return Error(StatusCode::kInvalidArgument, "at least one request must be allowed in flight");
  const Use use(state_->in_use);
  DEPUTY_RETURN_IF_ERROR(use.status());
  {
    const std::lock_guard lock(state_->requests_mutex);
    if (state_->requests != nullptr && state_->requests->calls_back())
      return Error(StatusCode::kFailedPrecondition, "SetInFlight was called from a callback");
  }
  state_->StopRequests(/*for_good=*/false);
  state_->most_requests = most;
  state_->order = order;
  return {};
}

void Session::CancelRequest(uint64_t request) {
  if (state_ == nullptr) return;
  const std::lock_guard lock(state_->requests_mutex);
  if (state_->requests != nullptr) state_->requests->Cancel(request);
}

}  // namespace deputy
