// A run of a session: checks and binds the caller's tensors, runs, returns the results.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "config/scalar.hpp"
#include "execute/execution.hpp"
#include "runtime/dump.hpp"
#include "runtime/events.hpp"
#include "runtime/held_states.hpp"
#include "runtime/session_state.hpp"
#include "runtime/tensor_binding.hpp"
#include "tensor/held_value.hpp"
#include "tensor/shape.hpp"

namespace deputy {

using host::Error;
using host::Execution;

namespace {

// Whether the value is of this type, which is not a tensor's.
Status CheckValue(const host::Graph& graph, const host::ValueType& type, const ModelValue& value) {
  const auto refuse = [&](const std::string& found) {
    return Error(StatusCode::kInvalidArgument, "is {}, the model takes {}", found, Describe(graph, type));
  };
  if (value.empty()) return IsOptional(type.kind) ? Status() : refuse("empty");
  if (value.is_sequence() != HoldsSequence(type.kind)) return refuse(value.is_sequence() ? "a sequence" : "a tensor");
  if (value.dtype() != type.dtype) return refuse(std::string("of ") + NameOf(value.dtype()));
  const auto fits = [&](const Tensor& tensor) {
    const auto agree = [](int64_t got, int64_t want) { return want < 0 || got == want; };
    return !type.ranked ||
           std::equal(tensor.shape().begin(), tensor.shape().end(), type.dims.begin(), type.dims.end(), agree);
  };
  if (value.is_tensor() && !fits(value.tensor())) return refuse(host::ShapeToString(value.tensor().shape()));
  for (const Tensor& element : value.elements())
    if (!fits(element)) return refuse("a sequence with an element of shape " + host::ShapeToString(element.shape()));
  return {};
}

// Memory of the inputs, which their owner may change or free.
std::unordered_set<const void*> LentMemory(std::span<const host::ValueView> inputs) {
  std::unordered_set<const void*> lent;
  for (const auto& [tensor, value] : inputs) {
    const Tensor& single = value == nullptr ? *tensor : value->tensor();
    if (!single.empty()) lent.insert(single.data());
    if (value == nullptr) continue;
    for (const Tensor& element : value->elements()) lent.insert(element.data());
  }
  return lent;
}

// The tensor itself, or a copy of one that is lent.
Result<Tensor> Apart(const Tensor& tensor, const std::unordered_set<const void*>& lent) {
  if (lent.count(tensor.data()) == 0) return tensor;
  DEPUTY_ASSIGN_OR_RETURN(Tensor copy, Tensor::Allocate(tensor.dtype(), tensor.shape()));
  if (copy.byte_size() != 0) std::memcpy(copy.mutable_data(), tensor.data(), copy.byte_size());
  return copy;
}

Result<ModelValue> Apart(const ModelValue& value, const std::unordered_set<const void*>& lent) {
  if (value.is_tensor()) {
    DEPUTY_ASSIGN_OR_RETURN(Tensor tensor, Apart(value.tensor(), lent));
    return ModelValue(std::move(tensor));
  }
  if (!value.is_sequence()) return value;
  std::vector<Tensor> elements;
  for (const Tensor& element : value.elements()) {
    DEPUTY_ASSIGN_OR_RETURN(Tensor made, Apart(element, lent));
    elements.push_back(std::move(made));
  }
  return ModelValue::Sequence(value.dtype(), std::move(elements));
}

// The nodes of a step and of its regions, for the delegates that own them.
void CountNodes(const host::Plan& plan, const host::Step& step, std::vector<std::pair<std::string, uint64_t>>& counts) {
  const host::PlacedPartition& placed = plan.placement.partitions[step.partition];
  if (placed.delegate < counts.size()) counts[placed.delegate].second += placed.spec.nodes.size();
  for (const host::Branch& branch : step.branches)
    for (const host::Step& inner : branch.plan->steps) CountNodes(*branch.plan, inner, counts);
}

}  // namespace

Status Session::State::Prepare(std::vector<Shape> wanted) {
  const host::ModelScope working(model->identity);
  DEPUTY_ASSIGN_OR_RETURN(host::ModelPlans::ShapedPlan planned, plans->PlanFor(wanted));
  // Of this execution alone: it takes the place of another one.
  std::shared_ptr<host::MemoryBudget> limit;
  if (const size_t bytes = plans->engine->limits.memory_bytes; bytes != 0)
    limit = std::make_shared<host::MemoryBudget>(bytes);
  DEPUTY_RETURN_IF_ERROR(host::TakeOutputs(*planned.plan, limit.get()).At(model->name));
  Result<std::unique_ptr<Execution>> made = [&] {
    const host::MutexLock lock(plans->fallback->mutex);
    return Execution::Create(std::move(planned.plan), plans->fallback.get(), {plans->engine->arenas.get(), limit});
  }();
  if (!made.ok()) return std::move(made).status().At(model->name);
  DEPUTY_RETURN_IF_ERROR(states.Attach((*made)->plan()).At(model->name));
  execution = std::move(made).value();
  budget = std::move(limit);
  measurement = std::move(planned.measurement);
  dump = std::move(planned.dump);
  shapes = std::move(wanted);
  has_shapes = true;
  binding.Prepare(execution->plan());
  spans.assign(execution->plan().steps.size(), {});
  staging.assign(shapes.size(), Tensor());
  if (wants_events) execution->SetProfiling(true);
  execution->SetHints(hints);
  statistics.delegate_ns.clear();
  for (const auto& delegate : plans->engine->delegates) statistics.delegate_ns.emplace_back(delegate->name(), 0);
  return {};
}

Status Session::State::BindInputs() {
  const host::Graph& graph = *execution->plan().graph;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].value != nullptr) {
      execution->Bind(graph.inputs[i], const_cast<ModelValue*>(inputs[i].value));
      continue;
    }
    const Tensor* input = inputs[i].tensor;
    if (host::Misaligned(*input)) {
      DEPUTY_RETURN_IF_ERROR(host::MakeFit(staging[i], input->dtype(), input->shape()));
      std::memcpy(staging[i].mutable_data(), input->data(), input->byte_size());
      input = &staging[i];
    }
    execution->Bind(graph.inputs[i], const_cast<void*>(input->data()));
  }
  return {};
}

Status Session::State::TakeInputs() {
  const host::Graph& graph = *model->graph;
  const size_t count = graph.caller_inputs().size();
  if (inputs.size() != count)
    return Error(StatusCode::kInvalidArgument, "{} inputs given, the model has {}", inputs.size(), count)
        .At(model->name);
  bool prepared = execution != nullptr && (measurement == nullptr || !measurement->changed);
  for (size_t i = 0; i < count; ++i) {
    const auto [tensor, value] = inputs[i];
    prepared = prepared && host::SameDims(tensor->shape(), shapes[i]);
    if (!tensor->empty() && tensor->dtype() == input_types[i]) continue;
    const host::Value& input = graph.values[graph.inputs[i]];
    if (value != nullptr) {
      Status status = CheckValue(graph, input.type, *value);
      if (!status.ok()) return std::move(status).At("input '" + input.name + "'").At(model->name);
      continue;
    }
    return host::CheckInput(graph, i, *tensor).At(model->name);
  }
  if (prepared) return {};
  std::vector<Shape> wanted;
  for (const host::ValueView& input : inputs) wanted.push_back(input.tensor->shape());
  const host::CompilationScope scope(stop);
  return Prepare(std::move(wanted));
}

Status Session::State::Predict(const std::vector<Tensor>& wanted, std::vector<Tensor>& outputs) {
  if (!model->only_tensors)
    return Error(StatusCode::kFailedPrecondition, "the model has inputs or outputs that are sequences or optionals")
        .At(model->name)
        .Advise("use PredictValues");
  inputs.resize(wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) inputs[i] = {&wanted[i], nullptr};
  if (has_buffers) return PredictWithBuffers(wanted, outputs);
  DEPUTY_RETURN_IF_ERROR(Run(outputs));
  return Finish();
}

Status Session::State::Run(std::vector<Tensor>& outputs) {
  const host::RunIncidents collecting(statistics.incidents);
  begin_ns = host::NowNs();
  FollowPlans();
  statistics.buffer_copies = 0;
  stop = BeginStop();
  const host::ModelScope working(model->identity);
  DEPUTY_RETURN_IF_ERROR(TakeInputs());
  DEPUTY_RETURN_IF_ERROR(BindInputs());
  DEPUTY_RETURN_IF_ERROR(binding.Bind(inputs, outputs, *execution).At(model->name));
  states.Bind(*execution);
  if (has_buffers) DEPUTY_RETURN_IF_ERROR(UseBuffers());
  if (profiling) busy_ns = BusyTimes();
  events.clear();
  const auto watched = times_steps() ? std::span<host::StepSpan>(spans) : std::span<host::StepSpan>();
  Status status = dump != nullptr && dump->BeginTensors() ? RunDumped(watched) : execution->Run(stop, watched);
  if (!status.ok()) {
    std::vector<host::PlanEvent> of_the_failed_run;
    execution->TakeEvents(of_the_failed_run);
    for (size_t step = 0; step < spans.size(); ++step) (void)execution->TakeCopies(step);
    return WithLimit(std::move(status)).At(model->name);
  }
  DEPUTY_RETURN_IF_ERROR(binding.CheckCopies(*execution, budget.get()).At(model->name));
  const host::CancellationScope scope(&stop);
  status = binding.Copy(inputs, outputs, *execution);
  if (status.ok() && scope.stopped()) status = WithLimit(stop.Check());
  return std::move(status).At(model->name);
}

Status Session::State::RunDumped(std::span<host::StepSpan> watched) {
  host::TensorDump tensors(*dump);
  DEPUTY_RETURN_IF_ERROR(tensors.WriteInputs(*execution));
  Status status = execution->Run(stop, watched, &tensors);
  Status listed = tensors.WriteList();
  return status.ok() ? std::move(listed) : std::move(status);
}

Status Session::State::TakeValues(std::vector<ModelValue>& outputs) const {
  const host::Graph& graph = *execution->plan().graph;
  const std::unordered_set<const void*> lent = LentMemory(inputs);
  for (size_t i = 0; i < outputs.size(); ++i)
    if (const ModelValue* held = host::HeldValue(execution->tensor(graph.outputs[i]))) {
      DEPUTY_ASSIGN_OR_RETURN(outputs[i], Apart(*held, lent));
    }
  return {};
}

Status Session::State::Finish() {
  const host::ModelScope working(model->identity);
  DEPUTY_RETURN_IF_ERROR(states.Keep(*execution).At(model->name));
  CountTime(host::NowNs() - begin_ns);
  if (wants_events) events = host::EventsOfRun(*execution, *plans->engine, spans);
  if (measurement != nullptr && !measurement->begun) plans->Measure(*measurement, shapes, *execution, stop);
  return {};
}

void Session::State::CountTime(uint64_t total_ns) {
  statistics.begin_ns = begin_ns;
  statistics.total_ns = total_ns;
  for (auto& [name, ns] : statistics.delegate_ns) ns = 0;
  if (!profiling) return;
  const host::Plan& plan = execution->plan();
  std::vector<std::pair<std::string, uint64_t>>& nodes = statistics.delegate_nodes;
  if (nodes.size() != statistics.delegate_ns.size()) nodes = statistics.delegate_ns;
  for (auto& [name, count] : nodes) count = 0;
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    // Also where a wrong result was replaced by the one of those that run the step from now on.
    const host::Plan* const other =
        spans[i].alternative != nullptr ? spans[i].alternative : AlternativeOf(plan.steps[i]);
    if (other == nullptr) {
      CountNodes(plan, plan.steps[i], nodes);
      statistics.delegate_ns[DelegateOf(plan, plan.steps[i])].second += spans[i].ns();
      continue;
    }
    // The time is that of the delegate with the most nodes.
    size_t owner = 0, most = 0;
    for (const host::Step& step : other->steps) {
      CountNodes(*other, step, nodes);
      const host::PlacedPartition& placed = other->placement.partitions[step.partition];
      if (placed.spec.nodes.size() < most) continue;
      owner = placed.delegate;
      most = placed.spec.nodes.size();
    }
    statistics.delegate_ns[owner].second += spans[i].ns();
  }
  statistics.device_ns = BusyTimes();
  for (size_t d = 0; d < busy_ns.size(); ++d) statistics.device_ns[d] -= std::min(busy_ns[d], statistics.device_ns[d]);
}

std::vector<uint64_t> Session::State::BusyTimes() const {
  std::vector<uint64_t> times;
  for (const host::HostedDelegate& delegate : plans->engine->delegates) {
    times.push_back(host::StateOf(*delegate).value_or(host::DeviceState()).busy_ns);
  }
  return times;
}

std::chrono::nanoseconds Session::State::TimeLimit() const {
  const std::chrono::nanoseconds set = timeout;
  return set != kConfigured ? set : model->timeout();
}

host::CancellationToken Session::State::BeginStop() {
  cancelled_ns = 0;
  if (request_cancelled != nullptr && *request_cancelled) Cancel();
  const uint64_t from_ns = request == nullptr ? begin_ns : request->result.submitted_ns;
  const std::chrono::nanoseconds set = timeout;
  time_limit = request != nullptr   ? std::chrono::nanoseconds(request->timeout_ns)
               : set != kConfigured ? set
                                    : std::chrono::nanoseconds(plans->engine->limits.timeout_ns);
  const uint64_t most = plans->engine->limits.loop_steps;
  loop_steps = {most == 0 ? UINT64_MAX : most, 0};
  return {time_limit.count() <= 0 ? 0 : from_ns + static_cast<uint64_t>(time_limit.count()), &cancelled_ns,
          &cancel_hook, &loop_steps};
}

Status Session::State::WithLimit(Status status) const {
  if (status.code() != StatusCode::kDeadlineExceeded || time_limit.count() <= 0 || !stop.Due()) return status;
  const std::string text = host::FormatDuration(std::chrono::duration_cast<host::Duration>(time_limit));
  const bool is_configured =
      timeout.load() == kConfigured && time_limit == std::chrono::nanoseconds(plans->engine->limits.timeout_ns);
  return std::move(status).Advise(is_configured
                                      ? fmt::format("raise 'limits: {{timeout: {}}}' in the configuration", text)
                                      : fmt::format("the time limit of the run is {}", text));
}

void Session::State::Cancel() {
  uint64_t never = 0;
  cancelled_ns.compare_exchange_strong(never, host::NowNs());
  cancel_hook.Call();
}

}  // namespace deputy
