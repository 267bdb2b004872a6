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
  for (const NodeId node : nodes) event.nodes.push_back(NodeName(*plan.graph, node));
  return event;
}

}  // namespace

std::vector<RunEvent> EventsOfRun(Execution& execution, const Engine& engine, std::span<const uint64_t> step_ns,
                                  uint64_t begin_ns) {
  const Plan& plan = execution.plan();
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
    events.push_back(std::move(event));
  };
  size_t next = 0;
  for (size_t step = 0; step < plan.steps.size(); ++step) {
    if (!plan.steps[step].runs()) continue;
    const PartitionSpec& partition = plan.placement.partitions[plan.steps[step].partition].spec;
    RunEvent event = EventIn(plan, step, engine, partition.nodes);
    event.name = partition.name;
    event.begin_ns = begin_ns;
    event.end_ns = begin_ns += step_ns[step];
    event.is_step = true;
    events.push_back(std::move(event));
    // Events are ordered by step; those of a region's plans belong to the step that runs the region.
    for (; next < taken.size() && taken[next].root_step == step; ++next) add(taken[next]);
  }
  return events;
}

}  // namespace deputy::host
