// deputy::Session: its life, its settings, and what it tells of its runs.
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "base/process_fork.hpp"
#include "compare/traits.hpp"
#include "runtime/events.hpp"
#include "runtime/session_state.hpp"

namespace deputy {

using host::Error;

namespace {

std::vector<Shape> ShapesOf(const std::vector<Tensor>& tensors) {
  std::vector<Shape> shapes;
  for (const Tensor& tensor : tensors) shapes.push_back(tensor.shape());
  return shapes;
}

}  // namespace

Result<std::unique_ptr<Session::State>> Session::State::Make(const std::shared_ptr<Model::State>& model) {
  auto made = std::make_unique<State>();
  made->model = model;
  for (const TensorInfo& input : model->inputs) made->input_types.push_back(input.dtype);
  if (Status begun = made->states.Begin(*model->graph); !begun.ok()) return std::move(begun).At(model->name);
  model->Add(*made);
  const Hold held(*made);
  made->FollowPlans();
  if (model->has_static_inputs()) DEPUTY_RETURN_IF_ERROR(made->Prepare(model->static_shapes()));
  return made;
}

Session::State::~State() {
  if (model != nullptr) model->Remove(*this);
}

std::shared_ptr<void> Session::State::LetGo() {
  if (!hold.TryTake()) return nullptr;
  Former former = in_use.load() == host::SessionUse::kCall ? Former() : TakeFormer();
  hold.Return();
  return former.plans == nullptr ? nullptr : std::make_shared<Former>(std::move(former));
}

Session::State::Former Session::State::TakeFormer() {
  if (plans == nullptr || model->AreCurrent(plans.get())) return {};
  measurement = nullptr;
  return {std::move(plans), std::move(execution), std::move(dump), std::exchange(imported, {})};
}

void Session::State::ChangePlans() {
  LeaveFormer();
  plans = model->plans();
}

Status Session::State::Renew() {
  FollowPlans();
  if (execution != nullptr) return {};
  return has_shapes ? Prepare(shapes)
                    : Error(StatusCode::kFailedPrecondition, "no shapes yet: call Predict or Resize first");
}

Session::Session() = default;
Session::Session(std::unique_ptr<State> state) : state_(std::move(state)) {}
Session::~Session() { End(); }
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&& other) noexcept {
  if (this == &other) return *this;
  End();
  state_ = std::move(other.state_);
  return *this;
}

void Session::End() {
  host::KeepInForkedChild(state_);
  if (state_ == nullptr) return;
  state_->StopRequests([this] { state_->is_ending = true; });
  while (state_->in_use.load(std::memory_order_acquire) != host::SessionUse::kFree) {
    state_->Cancel();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

Status Session::Predict(const std::vector<Tensor>& inputs, std::vector<Tensor>* outputs) {
  if (state_ == nullptr) return NotCreated();
  if (outputs == nullptr) return Error(StatusCode::kInvalidArgument, "outputs must not be null");
  if (outputs == &inputs) return Error(StatusCode::kInvalidArgument, "inputs and outputs must not be the same vector");
  const State::Use use(*state_);
  DEPUTY_RETURN_IF_ERROR(use.status());
  return state_->Predict(inputs, *outputs);
}

Status Session::PredictValues(const std::vector<ModelValue>& inputs, std::vector<ModelValue>* outputs) {
  if (state_ == nullptr) return NotCreated();
  if (outputs == nullptr) return Error(StatusCode::kInvalidArgument, "outputs must not be null");
  if (outputs == &inputs) return Error(StatusCode::kInvalidArgument, "inputs and outputs must not be the same vector");
  const State::Use use(*state_);
  DEPUTY_RETURN_IF_ERROR(use.status());
  if (state_->has_buffers)
    return Error(StatusCode::kFailedPrecondition, "buffers are bound: use Predict").At(state_->model->name);
  const std::vector<TensorInfo>& infos = state_->model->inputs;
  const Tensor none;
  state_->inputs.resize(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool is_tensor = i >= infos.size() || infos[i].kind == ValueKind::kTensor;
    state_->inputs[i] = {is_tensor ? &inputs[i].tensor() : &none, is_tensor ? nullptr : &inputs[i]};
  }
  std::vector<Tensor> tensors;
  DEPUTY_RETURN_IF_ERROR(state_->Run(tensors));
  std::vector<ModelValue> values(std::make_move_iterator(tensors.begin()), std::make_move_iterator(tensors.end()));
  DEPUTY_RETURN_IF_ERROR(state_->TakeValues(values));
  DEPUTY_RETURN_IF_ERROR(state_->Finish());
  *outputs = std::move(values);
  return {};
}

Result<MeasureReport> Session::MeasurePlacement(const std::vector<Tensor>& inputs, const MeasureOptions& options) {
  if (state_ == nullptr || !state_->model->plans()->engine->measure)
    return Error(StatusCode::kFailedPrecondition, "placements are measured under policy 'measured' only")
        .Advise("set placement.policy to measured");
  const State::Use use(*state_);
  DEPUTY_RETURN_IF_ERROR(use.status());
  if (state_->has_buffers)
    return Error(StatusCode::kFailedPrecondition, "buffers are bound: unbind them first").At(state_->model->name);
  std::vector<Tensor> outputs;
  state_->FollowPlans();
  DEPUTY_RETURN_IF_ERROR(state_->Prepare(ShapesOf(inputs)));
  state_->measurement = nullptr;  // this call takes its place
  DEPUTY_RETURN_IF_ERROR(state_->Predict(inputs, outputs));
  const host::SearchSettings settings{static_cast<uint64_t>(options.budget.count()), 0, options.margin,
                                      options.progress};
  // The search is not limited by the timeout of runs.
  const host::CancellationToken token{0, &state_->cancelled_ns, &state_->cancel_hook};
  DEPUTY_ASSIGN_OR_RETURN(const host::SearchResult found,
                          state_->plans->Search(state_->shapes, *state_->execution, settings,
                                                host::ModelPlans::EarlierDecision::kIsReplaced, token));
  state_->execution = nullptr;  // the next run prepares the new plan
  return MeasureReport{found.decision.summary, found.order_ns,   found.best_ns,
                       found.cpu_ns,           found.candidates, found.complete};
}

Status Session::Resize(const std::vector<Shape>& shapes) {
  if (state_ == nullptr) return NotCreated();
  const State::Use use(*state_);
  DEPUTY_RETURN_IF_ERROR(use.status());
  state_->FollowPlans();
  if (state_->execution != nullptr && shapes == state_->shapes) return {};
  return state_->Prepare(shapes);
}

Status Session::ResetStates() {
  if (state_ == nullptr) return NotCreated();
  const State::Use use(*state_);
  DEPUTY_RETURN_IF_ERROR(use.status());
  return state_->states.Begin(*state_->model->graph);
}

void Session::SetTimeout(std::chrono::nanoseconds timeout) {
  if (state_ == nullptr) return;
  state_->timeout = std::max(timeout, std::chrono::nanoseconds(0));
}

void Session::Cancel() {
  if (state_ == nullptr || !host::CheckNotForked().ok()) return;
  state_->Cancel();
  const std::lock_guard lock(state_->requests_mutex);
  if (state_->requests != nullptr) state_->requests->CancelAll();
}

void Session::SetHints(const RunHints& hints) {
  if (state_ == nullptr || !host::CheckNotForked().ok()) return;
  const host::RunHints wishes{static_cast<uint32_t>(std::clamp(hints.power_level, 0, 4)), hints.precision,
                              hints.priority};
  state_->SetHints(wishes);
  const std::lock_guard lock(state_->requests_mutex);
  for (const std::unique_ptr<State>& other : state_->beside) other->SetHints(wishes);
}

void Session::EnableProfiling(bool on) {
  if (state_ != nullptr) state_->profiling = on;
}

void Session::EnableEvents(bool on) {
  if (state_ == nullptr || state_->wants_events == on || !host::CheckNotForked().ok()) return;
  const State::Hold held(*state_);
  state_->wants_events = on;
  state_->events.clear();
  if (state_->execution != nullptr) state_->execution->SetProfiling(on);
}

const std::vector<RunEvent>& Session::events() const {
  static const std::vector<RunEvent> nothing;
  return state_ == nullptr ? nothing : state_->events;
}

const RunStatistics& Session::statistics() const {
  static const RunStatistics nothing;
  return state_ == nullptr ? nothing : state_->statistics;
}

Result<PlacementReport> Session::Placement() const {
  if (state_ == nullptr) return NotCreated();
  DEPUTY_RETURN_IF_ERROR(host::CheckNotForked());
  const State::Hold held(*state_);
  DEPUTY_RETURN_IF_ERROR(state_->Renew());
  return host::MakeReport(state_->execution->plan(), *state_->plans->engine);
}

Result<PlacementReport> Session::DelegateShares() const {
  if (state_ == nullptr) return NotCreated();
  DEPUTY_RETURN_IF_ERROR(host::CheckNotForked());
  const State::Hold held(*state_);
  DEPUTY_RETURN_IF_ERROR(state_->Renew());
  return host::MakeShares(state_->execution->plan(), *state_->plans->engine);
}

Result<ModelTraits> Session::Traits() const {
  if (state_ == nullptr) return NotCreated();
  DEPUTY_RETURN_IF_ERROR(host::CheckNotForked());
  const State::Hold held(*state_);
  DEPUTY_RETURN_IF_ERROR(state_->Renew());
  ModelTraits traits;
  host::ForEachNode(*state_->execution->plan().graph, [&](const host::Graph& graph, host::NodeId id, uint32_t) {
    const host::Primitive& primitive = graph.nodes[id].primitive;
    host::AddNode(primitive.domain(), primitive.op_type(), NodeName(graph, id), traits);
  });
  const host::Engine& engine = *state_->plans->engine;
  for (const host::PlacedPartition& partition : state_->execution->plan().placement.partitions)
    host::AddPrecision(engine.delegates[partition.delegate].tolerances.computes_in, traits);
  return traits;
}

Result<Tensor> Model::AllocateTensor(DType dtype, Shape shape) const {
  if (state_ == nullptr) return Error(StatusCode::kFailedPrecondition, "the model is not built");
  const std::shared_ptr<host::SharedArenas> arenas = state_->plans()->engine->arenas;
  if (arenas == nullptr) return Tensor::Allocate(dtype, std::move(shape));
  DEPUTY_ASSIGN_OR_RETURN(const size_t bytes, ByteSize(dtype, shape));
  std::shared_ptr<uint8_t> memory = arenas->Allocate(bytes);
  if (memory == nullptr) return Error(StatusCode::kResourceExhausted, "no memory for a tensor of {} bytes", bytes);
  uint8_t* const data = memory.get();
  return Tensor::Wrap(dtype, std::move(shape), data, bytes, std::move(memory));
}

Result<Session> Model::CreateSession() const {
  if (state_ == nullptr) return Error(StatusCode::kFailedPrecondition, "the model is not built");
  DEPUTY_RETURN_IF_ERROR(host::CheckNotForked());
  DEPUTY_ASSIGN_OR_RETURN(std::unique_ptr<Session::State> session, Session::State::Make(state_));
  return Session(std::move(session));
}

}  // namespace deputy
