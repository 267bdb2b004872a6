// deputy::Session: checks and binds the caller's tensors, runs, hands the results back.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>

#include "base/printable.hpp"
#include "execute/execution.hpp"
#include "runtime/events.hpp"
#include "runtime/model_state.hpp"

namespace deputy {

using host::Error;
using host::Execution;
using host::Slot;
using host::ValueId;

struct Session::State {
  std::shared_ptr<Model::State> model;
  std::vector<Shape> shapes;
  std::unique_ptr<Execution> execution;
  std::vector<Tensor> staging;  // aligned copies of misaligned inputs
  RunStatistics statistics;
  bool profiling = false, wants_events = false;
  std::vector<RunEvent> events;
  std::vector<uint64_t> step_ns;
  std::chrono::nanoseconds timeout{0};
  std::atomic<bool> cancelled{false};

  Status Prepare(std::vector<Shape> wanted);
  Status BindInputs(const std::vector<Tensor>& inputs);
  Status BindOutputs(const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs);
  Status CopyOutputs(const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs);
  bool SameShapes(const std::vector<Tensor>& inputs) const;
  // Output i is written by the plan itself, not copied afterwards.
  bool IsBound(size_t i) const;
  void CountTime(uint64_t total_ns);
  bool times_steps() const { return profiling || wants_events; }
  host::Stop stop() const;
};

namespace {

bool Misaligned(const Tensor& tensor) {
  return reinterpret_cast<uintptr_t>(tensor.data()) % std::max<size_t>(1, SizeOf(tensor.dtype())) != 0;
}

bool Overlap(const Tensor& a, const Tensor& b) {
  const auto* x = static_cast<const uint8_t*>(a.data());
  const auto* y = static_cast<const uint8_t*>(b.data());
  return a.byte_size() != 0 && b.byte_size() != 0 && x < y + b.byte_size() && y < x + a.byte_size();
}

// Leaves a tensor alone that fits, else replaces it by a new one.
Status MakeFit(Tensor& tensor, DType dtype, std::span<const int64_t> dims) {
  const Shape& shape = tensor.shape();
  if (!tensor.empty() && tensor.dtype() == dtype && !Misaligned(tensor) &&
      std::equal(dims.begin(), dims.end(), shape.begin(), shape.end()))
    return {};
  DEPUTY_ASSIGN_OR_RETURN(tensor, Tensor::Allocate(dtype, Shape(dims.begin(), dims.end())));
  return {};
}

}  // namespace

Status Session::State::Prepare(std::vector<Shape> wanted) {
  DEPUTY_ASSIGN_OR_RETURN(std::shared_ptr<const host::Plan> plan, model->PlanFor(wanted));
  Result<std::unique_ptr<Execution>> made = [&] {
    std::lock_guard lock(model->engine->load_mutex);
    return Execution::Create(std::move(plan));
  }();
  if (!made.ok()) return std::move(made).status().At(model->name);
  execution = std::move(made).value();
  shapes = std::move(wanted);
  step_ns.assign(execution->plan().steps.size(), 0);
  staging.assign(shapes.size(), Tensor());
  if (wants_events) execution->SetProfiling(true);
  statistics.delegate_ns.clear();
  for (const auto& delegate : model->engine->delegates) statistics.delegate_ns.emplace_back(delegate->name(), 0);
  return {};
}

bool Session::State::SameShapes(const std::vector<Tensor>& inputs) const {
  if (execution == nullptr) return false;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].shape() != shapes[i]) return false;
  return true;
}

Status Session::State::BindInputs(const std::vector<Tensor>& inputs) {
  const host::Graph& graph = *execution->plan().graph;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor* input = &inputs[i];
    if (Misaligned(*input)) {
      DEPUTY_RETURN_IF_ERROR(MakeFit(staging[i], input->dtype(), input->shape()));
      std::memcpy(staging[i].mutable_data(), input->data(), input->byte_size());
      input = &staging[i];
    }
    execution->Bind(graph.inputs[i], const_cast<void*>(input->data()));
  }
  return {};
}

bool Session::State::IsBound(size_t i) const {
  const host::Graph& graph = *execution->plan().graph;
  const ValueId id = graph.outputs[i];
  const auto is = [id](ValueId other) { return other == id; };
  return execution->plan().slots[id].home == Slot::Home::kBound &&
         std::none_of(graph.inputs.begin(), graph.inputs.end(), is) &&
         std::none_of(graph.outputs.begin(), graph.outputs.begin() + static_cast<ptrdiff_t>(i), is);
}

Status Session::State::BindOutputs(const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs) {
  const host::Graph& graph = *execution->plan().graph;
  outputs.resize(graph.outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!IsBound(i)) continue;
    const Slot& slot = execution->plan().slots[graph.outputs[i]];
    if (Status status = MakeFit(outputs[i], slot.dtype, slot.dims); !status.ok())
      return std::move(status)
          .At("output '" + host::Printable(graph.values[graph.outputs[i]].name) + "'")
          .At(model->name);
    for (const Tensor& input : inputs)
      if (Overlap(outputs[i], input))
        return Error(StatusCode::kInvalidArgument, "output '{}' shares memory with an input",
                     graph.values[graph.outputs[i]].name);
    for (size_t j = 0; j < i; ++j)
      if (IsBound(j) && Overlap(outputs[i], outputs[j]))
        return Error(StatusCode::kInvalidArgument, "outputs '{}' and '{}' share memory",
                     graph.values[graph.outputs[j]].name, graph.values[graph.outputs[i]].name);
    execution->Bind(graph.outputs[i], outputs[i].mutable_data());
  }
  return {};
}

// Outputs that are inputs, constants, repeated, or of extents that only the run could tell.
Status Session::State::CopyOutputs(const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs) {
  const host::Graph& graph = *execution->plan().graph;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (IsBound(i)) continue;
    const deputy_tensor& result = execution->tensor(graph.outputs[i]);
    DEPUTY_RETURN_IF_ERROR(MakeFit(outputs[i], static_cast<DType>(result.dtype), {result.dims, result.rank}));
    for (const Tensor& input : inputs)
      if (Overlap(outputs[i], input)) {
        DEPUTY_ASSIGN_OR_RETURN(outputs[i], Tensor::Allocate(outputs[i].dtype(), outputs[i].shape()));
      }
    if (result.byte_size != 0) std::memcpy(outputs[i].mutable_data(), result.data, result.byte_size);
  }
  return {};
}

void Session::State::CountTime(uint64_t total_ns) {
  statistics.total_ns = total_ns;
  for (auto& [name, ns] : statistics.delegate_ns) ns = 0;
  if (!profiling) return;
  const host::Plan& plan = execution->plan();
  for (size_t i = 0; i < plan.steps.size(); ++i)
    statistics.delegate_ns[plan.placement.partitions[plan.steps[i].partition].delegate].second += step_ns[i];
}

host::Stop Session::State::stop() const {
  if (timeout.count() <= 0) return {0, &cancelled};
  return {host::NowNs() + static_cast<uint64_t>(timeout.count()), &cancelled};
}

Session::Session() = default;
Session::Session(std::unique_ptr<State> state) : state_(std::move(state)) {}
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

Status Session::Predict(const std::vector<Tensor>& inputs, std::vector<Tensor>* outputs) {
  if (state_ == nullptr) return Error(StatusCode::kFailedPrecondition, "the session was not made by a model");
  if (outputs == nullptr) return Error(StatusCode::kInvalidArgument, "no place for the outputs");
  State& state = *state_;
  state.cancelled = false;
  const host::Graph& graph = *state.model->graph;
  if (inputs.size() != graph.inputs.size())
    return Error(StatusCode::kInvalidArgument, "{} inputs given, the model has {}", inputs.size(), graph.inputs.size())
        .At(state.model->name);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const host::Value& input = graph.values[graph.inputs[i]];
    if (inputs[i].empty()) return Error(StatusCode::kInvalidArgument, "input '{}' is empty", input.name);
    if (inputs[i].dtype() != input.type.dtype)
      return Error(StatusCode::kInvalidArgument, "input '{}' is {}, the model takes {}", input.name,
                   NameOf(inputs[i].dtype()), NameOf(input.type.dtype))
          .At(state.model->name);
  }
  if (!state.SameShapes(inputs)) {
    std::vector<Shape> wanted;
    for (const Tensor& input : inputs) wanted.push_back(input.shape());
    DEPUTY_RETURN_IF_ERROR(state.Prepare(std::move(wanted)));
  }
  DEPUTY_RETURN_IF_ERROR(state.BindInputs(inputs));
  DEPUTY_RETURN_IF_ERROR(state.BindOutputs(inputs, *outputs));
  state.events.clear();
  const auto start = std::chrono::steady_clock::now();
  Status status = state.execution->Run(
      state.stop(), state.times_steps() ? std::span<uint64_t>(state.step_ns) : std::span<uint64_t>());
  if (!status.ok()) {
    std::vector<host::PlanEvent> of_the_failed_run;
    state.execution->TakeEvents(of_the_failed_run);
    return std::move(status).At(state.model->name);
  }
  DEPUTY_RETURN_IF_ERROR(state.CopyOutputs(inputs, *outputs));
  const auto elapsed = std::chrono::steady_clock::now() - start;
  state.CountTime(static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(elapsed).count()));
  if (state.wants_events)
    state.events = host::EventsOfRun(*state.execution, *state.model->engine, state.step_ns,
                                     static_cast<uint64_t>(start.time_since_epoch().count()));
  return {};
}

Status Session::Resize(const std::vector<Shape>& shapes) {
  if (state_ == nullptr) return Error(StatusCode::kFailedPrecondition, "the session was not made by a model");
  if (state_->execution != nullptr && shapes == state_->shapes) return {};
  return state_->Prepare(shapes);
}

void Session::SetTimeout(std::chrono::nanoseconds timeout) {
  if (state_ != nullptr) state_->timeout = timeout;
}

void Session::Cancel() {
  if (state_ != nullptr) state_->cancelled = true;
}

void Session::EnableProfiling(bool on) {
  if (state_ != nullptr) state_->profiling = on;
}

void Session::EnableEvents(bool on) {
  if (state_ == nullptr || state_->wants_events == on) return;
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
  if (state_ == nullptr || state_->execution == nullptr)
    return Error(StatusCode::kFailedPrecondition, "no shapes yet: call Predict or Resize first");
  return host::MakeReport(state_->execution->plan(), *state_->model->engine);
}

Result<Session> Model::CreateSession() const {
  if (state_ == nullptr) return Error(StatusCode::kFailedPrecondition, "the model is not built");
  auto session = std::make_unique<Session::State>();
  session->model = state_;
  if (state_->has_static_inputs()) DEPUTY_RETURN_IF_ERROR(session->Prepare(state_->static_shapes()));
  return Session(std::move(session));
}

}  // namespace deputy
