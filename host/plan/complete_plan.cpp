#include "plan/complete_plan.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "graph/graph.hpp"
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

}  // namespace

void CompletePlan(Plan& plan, Delegates delegates, bool top_level) {
  const size_t cpu = CpuOf(delegates);
  if (NodeFuser* const fuser = delegates[cpu]->fuser()) FuseSteps(plan, *fuser, cpu);
  plan.overlaps = std::any_of(plan.steps.begin(), plan.steps.end(), [&](const Step& step) {
    return delegates[plan.placement.partitions[step.partition].delegate]->traits().overlaps;
  });
  PlanBuffers(plan, plan.overlaps ? StepOrder(plan) : StepOrder(), cpu, top_level);
  plan.weight_bytes = 0;
  for (const Step& step : plan.steps)
    if (step.executable != nullptr) plan.weight_bytes += step.executable->weight_bytes();
}

}  // namespace deputy::host
