#include "plan/complete_plan.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "graph/graph.hpp"
#include "partition/overlap.hpp"
#include "plan/buffer_planner.hpp"
#include "plan/step_order.hpp"

namespace deputy::host {
namespace {

// Replaces the executables of nodes of the last delegate by those of fused nodes. Its steps none of whose results is
// read any more have nothing to run.
void FuseSteps(Plan& plan, NodeFuser& fuser, size_t number) {
  const Graph& graph = *plan.graph;
  GraphView view{&graph, std::vector<NodeId>(graph.nodes.size()), std::vector<uint8_t>(graph.nodes.size(), 0)};
  std::iota(view.order.begin(), view.order.end(), NodeId{0});
  std::vector<Step*> step_of(graph.nodes.size(), nullptr);
  for (Step& step : plan.steps) {
    const PlacedPartition& placed = plan.placement.partitions[step.partition];
    if (placed.delegate != number || step.executable == nullptr) continue;
    view.offered[placed.spec.nodes.front()] = 1;
    step_of[placed.spec.nodes.front()] = &step;
  }
  std::vector<FusedNode> fused = fuser.Fuse(view);
  if (fused.empty()) return;
  std::vector<const Step*> maker(graph.values.size(), nullptr);
  for (FusedNode& node : fused) {
    Step& step = *step_of[node.node];
    step.executable = std::move(node.executable);
    step.inputs = std::move(node.inputs);
    step.outputs = std::move(node.outputs);
    for (const ValueId id : step.outputs) maker[id] = &step;
  }
  std::vector<uint8_t> read(graph.values.size(), 0);
  for (const ValueId id : graph.outputs) read[id] = 1;
  for (size_t i = plan.steps.size(); i-- > 0;) {
    Step& step = plan.steps[i];
    const NodeId node = plan.placement.partitions[step.partition].spec.nodes.front();
    const bool needed = std::any_of(step.outputs.begin(), step.outputs.end(), [&](ValueId id) {
      return id != kNone && read[id] != 0 && (maker[id] == nullptr || maker[id] == &step);
    });
    if (!needed && step_of[node] == &step) {
      step.is_fused = true;
      step.executable = nullptr;
      step.inputs.clear();
      step.outputs.clear();
      continue;
    }
    for (const ValueId id : step.inputs)
      if (id != kNone) read[id] = 1;
    for (const Branch& branch : step.branches)
      for (const ValueId id : branch.captures) read[id] = 1;
  }
}

uint64_t WorkOf(const Plan& plan, const Step& step) {
  if (!step.runs()) return 0;
  uint64_t work = 0;
  for (const NodeId id : plan.placement.partitions[step.partition].spec.nodes)
    work += OperationsOf(*plan.graph, plan.graph->nodes[id]);
  return work;
}

// Whether a step of a delegate that overlaps has as much work as steps of others that need not wait for it.
bool PaysToOverlap(const Plan& plan, const StepOrder& order) {
  if (!order.is_known()) return false;
  const auto owner = [&](uint32_t step) { return plan.placement.partitions[plan.steps[step].partition].delegate; };
  std::vector<uint64_t> work;
  for (const Step& step : plan.steps) work.push_back(WorkOf(plan, step));
  for (uint32_t step = 0; step < work.size(); ++step) {
    if (work[step] < kLeastOverlap || !plan.steps[step].overlaps) continue;
    uint64_t beside = 0;
    for (uint32_t other = 0; other < work.size() && beside < kLeastOverlap; ++other)
      if (owner(other) != owner(step) && !order.Precedes(other, step) && !order.Precedes(step, other))
        beside += work[other];
    if (beside >= kLeastOverlap) return true;
  }
  return false;
}

// Marks the steps that need not wait for one of another delegate, nor it for them, of which one overlaps.
void MarkOverlap(Plan& plan, const StepOrder& order) {
  const auto owner = [&](const Step& step) { return plan.placement.partitions[step.partition].delegate; };
  for (uint32_t first = 0; first < plan.steps.size(); ++first)
    for (uint32_t second = first + 1; second < plan.steps.size(); ++second) {
      Step &a = plan.steps[first], &b = plan.steps[second];
      if ((a.may_overlap && b.may_overlap) || (!a.overlaps && !b.overlaps) || !a.runs() || !b.runs()) continue;
      if (owner(a) != owner(b) && !order.Precedes(first, second)) a.may_overlap = b.may_overlap = true;
    }
}

// The order of a plan whose steps may overlap; not known for any other plan.
StepOrder OverlapSteps(Plan& plan, Delegates delegates) {
  bool any = false;
  for (Step& step : plan.steps) {
    step.may_overlap = false;
    step.overlaps = delegates[plan.placement.partitions[step.partition].delegate]->traits().overlaps;
    any = any || step.overlaps;
  }
  StepOrder order = any ? StepOrder(plan) : StepOrder();
  plan.overlaps = any && PaysToOverlap(plan, order);
  if (plan.overlaps) MarkOverlap(plan, order);
  if (plan.overlaps) return order;
  for (Step& step : plan.steps) {
    step.overlaps = false;
    step.waits.clear();
  }
  return StepOrder();
}

}  // namespace

void CompletePlan(Plan& plan, Delegates delegates, bool top_level) {
  const size_t cpu = CpuOf(delegates);
  if (NodeFuser* const fuser = delegates[cpu]->fuser()) FuseSteps(plan, *fuser, cpu);
  // The steps of a region run on the thread of the step that has it.
  plan.overlaps = false;
  PlanBuffers(plan, top_level ? OverlapSteps(plan, delegates) : StepOrder(), cpu, top_level);
  plan.weight_bytes = 0;
  for (const Step& step : plan.steps)
    if (step.executable != nullptr) plan.weight_bytes += step.executable->weight_bytes();
}

}  // namespace deputy::host
