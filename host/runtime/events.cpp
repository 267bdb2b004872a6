#include "runtime/events.hpp"

#include <utility>

#include "runtime/model_state.hpp"

namespace deputy::host {
namespace {

RunEvent EventIn(const Plan& plan, size_t step, const Engine& engine, const std::vector<NodeId>& nodes) {
  const PlacedPartition& placed = plan.placement.partitions[plan.steps[step].partition];
  RunEvent event;
  event.delegate = engine.delegates[DelegateOf(plan, plan.steps[step])]->name();
  event.partition = placed.spec.name;
  for (const NodeId node : nodes) {
    event.nodes.push_back(NodeName(*plan.graph, node));
    event.op_types.emplace_back(plan.graph->nodes[node].primitive.op_type());
  }
  return event;
}

// Bytes that steps read and write.
class Traffic {
 public:
  explicit Traffic(const Execution& execution)
      : execution_(execution), plan_(execution.plan()), maker_(plan_.slots.size(), plan_.delegate_names.size()) {
    // Outputs of views too: their bytes were made by the step before.
    for (const Step& step : plan_.steps)
      for (const ValueId id : step.outputs)
        if (id != kNone) maker_[id] = DelegateOf(plan_, step);
  }

  void Count(const Step& step, RunEvent& event) const {
    const size_t delegate = DelegateOf(plan_, step);
    for (const ValueId id : step.inputs) {
      if (id == kNone || plan_.graph->values[id].is_constant()) continue;
      const uint64_t bytes = execution_.tensor(id).byte_size;
      event.bytes_in += bytes;
      if (maker_[id] != delegate) event.bytes_moved += bytes;
    }
    for (const ValueId id : step.outputs)
      if (id != kNone) event.bytes_out += execution_.tensor(id).byte_size;
  }

 private:
  const Execution& execution_;
  const Plan& plan_;
  std::vector<size_t> maker_;  // per value: the delegate; one past the last for inputs
};

}  // namespace

std::vector<RunEvent> EventsOfRun(Execution& execution, const Engine& engine, std::span<const StepSpan> spans) {
  const Plan& plan = execution.plan();
  const Traffic traffic(execution);
  std::vector<PlanEvent> taken;
  execution.TakeEvents(taken);
  std::vector<RunEvent> events;
  const auto add = [&](PlanEvent& from) {
    RunEvent event = EventIn(*from.plan, from.step, engine, from.event.nodes);
    event.name = std::move(from.event.name);
    event.metadata = std::move(from.event.metadata);
    event.begin_ns = from.event.begin_ns;
    event.end_ns = from.event.end_ns;
    event.on_device_clock = from.event.on_device_clock;
    event.is_related = from.event.is_related;
    events.push_back(std::move(event));
  };
  size_t next = 0;
  for (size_t step = 0; step < plan.steps.size(); ++step) {
    if (!plan.steps[step].runs()) continue;
    const PartitionSpec& partition = plan.placement.partitions[plan.steps[step].partition].spec;
    RunEvent event = EventIn(plan, step, engine, partition.nodes);
    event.name = partition.name;
    event.begin_ns = spans[step].begin_ns;
    event.end_ns = spans[step].end_ns;
    event.is_step = true;
    traffic.Count(plan.steps[step], event);
    const CopyCounts copies = execution.TakeCopies(step);
    event.copies = copies.count;
    event.bytes_copied = copies.bytes;
    events.push_back(std::move(event));
    // Events are ordered by step; those of a region's plans belong to the step that runs the region.
    for (; next < taken.size() && taken[next].root_step == step; ++next) add(taken[next]);
  }
  return events;
}

}  // namespace deputy::host
