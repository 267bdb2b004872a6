#include "plan/respecialize.hpp"

#include <algorithm>
#include <cstring>

#include "base/log.hpp"
#include "plan/complete_plan.hpp"
#include "plan/step_health.hpp"
#include "plan/subgraph_shapes.hpp"

namespace deputy::host {
namespace {

bool SameConstant(const Value& a, const Value& b) {
  if (a.is_constant() != b.is_constant()) return false;
  if (!a.is_constant()) return true;
  if (a.type.dims != b.type.dims || a.constant.byte_size() != b.constant.byte_size()) return false;
  return a.constant.data() == b.constant.data() ||
         std::memcmp(a.constant.data(), b.constant.data(), a.constant.byte_size()) == 0;
}

// Whether both are one model at two shapes. Not guaranteed, since passes fold operators whose results depend on shapes.
bool SameStructure(const Graph& a, const Graph& b) {
  if (a.nodes.size() != b.nodes.size() || a.values.size() != b.values.size() || a.inputs != b.inputs ||
      a.outputs != b.outputs)
    return false;
  for (NodeId id = 0; id < a.nodes.size(); ++id) {
    const Node &x = a.nodes[id], &y = b.nodes[id];
    if (!x.regions.empty() || !y.regions.empty() || x.inputs != y.inputs || x.outputs != y.outputs) return false;
    const auto one = x.primitive.bytes(), other = y.primitive.bytes();
    if (!std::equal(one.begin(), one.end(), other.begin(), other.end())) return false;
  }
  for (ValueId id = 0; id < a.values.size(); ++id)
    if (a.values[id].type.dtype != b.values[id].type.dtype || a.values[id].type.kind != b.values[id].type.kind ||
        a.values[id].is_constant() != b.values[id].is_constant() ||
        a.values[id].type.dims.size() != b.values[id].type.dims.size())
      return false;
  return true;
}

// Whether the delegate would give the same verdict for any other shape.
bool HoldsForAllShapes(Reason reason) {
  switch (reason) {
    case Reason::kSupported:
    case Reason::kOperatorUnknown:
    case Reason::kDefinitionTooNew:
    case Reason::kDType:
    case Reason::kRank:
    case Reason::kAttribute:
    case Reason::kLayout:
    case Reason::kNotConstant:
    case Reason::kNoTensor:
    case Reason::kDeniedByRule:
    case Reason::kPartitionTooSmall:
    case Reason::kWouldMakeCycle: return true;
    default: return false;
  }
}

class Carrier {
 public:
  Carrier(const std::shared_ptr<const Graph>& graph, const PlanSources& sources, Delegates delegates,
          ExecutableMaker& maker)
      : graph_(graph), sources_(sources), sibling_(*sources.sibling), delegates_(delegates), maker_(maker) {
    view_.graph = graph.get();
    view_.offered.assign(graph->nodes.size(), 0);
    for (NodeId node = 0; node < graph->nodes.size(); ++node) view_.order.push_back(node);
  }

  // Checks that need no query of a delegate.
  bool IsPossible() const {
    if (std::any_of(delegates_.begin(), delegates_.end(),
                    [](const HostedDelegate& delegate) { return delegate.limits.min_multiply_adds != 0; }))
      return false;
    bool any = false;
    for (const PlacedPartition& placed : sibling_.placement.partitions) {
      const bool keeps = delegates_[placed.delegate]->traits().keeps_partitions;
      if (!keeps && !IsCpu(delegates_, placed.delegate)) return false;
      any = any || keeps;
      for (const NodeId node : placed.spec.nodes)
        for (size_t d = 0; d < delegates_.size(); ++d) {
          const Reason reason = sibling_.placement.verdicts[d][node].reason;
          // For other shapes any delegate may be the cheapest, also one behind the owner.
          if (reason == Reason::kMoreExpensive || (d < placed.delegate && !HoldsForAllShapes(reason))) return false;
        }
    }
    return any && SameStructure(*sibling_.graph, *graph_);
  }

  std::shared_ptr<Plan> Run() {
    auto plan = std::make_shared<Plan>();
    plan->graph = graph_;
    plan->placement = sibling_.placement;
    plan->delegate_names = sibling_.delegate_names;
    // Estimates are of the other shapes.
    for (PlacedPartition& placed : plan->placement.partitions) placed.estimate.reset();
    for (const Step& old : sibling_.steps) {
      Step step = old;
      step.is_view = false;
      const PlacedPartition& placed = plan->placement.partitions[step.partition];
      const HostedDelegate& owner = delegates_[placed.delegate];
      if (KnownFault(*graph_, placed, owner, sources_) || !Renew(placed, step)) return nullptr;
      step.health = HealthOf(*graph_, placed, step, owner, sources_);
      plan->steps.push_back(std::move(step));
    }
    CompletePlan(*plan, delegates_, /*top_level=*/true);
    return plan;
  }

 private:
  bool Renew(const PlacedPartition& placed, Step& step) {
    Delegate& delegate = *delegates_[placed.delegate];
    const bool keeps = delegate.traits().keeps_partitions;
    if (keeps && ShapesAreKnown(step) && ConstantsAreTheSame(placed.spec)) {
      const Result<ResizeOutcome> outcome = Try(step);
      if (outcome.ok() && *outcome == ResizeOutcome::kDone) {
        if (step.origin != ExecutableOrigin::kResized || step.compiled_from == nullptr)
          step.compiled_from = sibling_.graph;
        step.origin = ExecutableOrigin::kResized;
        step.not_cached = nullptr;
        return true;
      }
      if (!outcome.ok()) return GiveUp(delegate, placed.spec, outcome.status());
    } else if (keeps && !ShapesAreKnown(step)) {
      return false;
    }
    Result<Made> made = maker_.Make(delegate, view_, placed.spec);
    if (!made.ok()) return GiveUp(delegate, placed.spec, made.status());
    step.executable = std::move(made->executable);
    step.origin = made->origin;
    step.not_cached = std::move(made->not_cached);
    step.compiled_from = nullptr;
    step.inputs = placed.spec.inputs;  // a fused node has others
    step.outputs = placed.spec.outputs;
    step.is_fused = false;
    return true;
  }

  // On a context of its own: those of sessions are not changed until all delegates have agreed.
  Result<ResizeOutcome> Try(const Step& step) const {
    DEPUTY_ASSIGN_OR_RETURN(const std::unique_ptr<ExecutionContext> context, step.executable->CreateContext());
    const SubgraphShapes shapes(*graph_, step.inputs, step.outputs);
    return context->Resize(shapes.inputs, shapes.outputs);
  }

  static bool GiveUp(const Delegate& delegate, const PartitionSpec& partition, const Status& why) {
    Log(why.code() == StatusCode::kNotSupported ? LogLevel::kDebug : LogLevel::kWarning,
        "{} cannot resize partition {} to other shapes: {}; the model is placed again", delegate.name(), partition.name,
        why.ToString());
    return false;
  }

  bool ShapesAreKnown(const Step& step) const {
    const auto known = [&](ValueId id) { return id == kNone || graph_->values[id].type.is_static(); };
    return std::all_of(step.inputs.begin(), step.inputs.end(), known) &&
           std::all_of(step.outputs.begin(), step.outputs.end(), known);
  }

  bool ConstantsAreTheSame(const PartitionSpec& partition) const {
    return std::all_of(partition.nodes.begin(), partition.nodes.end(), [&](NodeId node) {
      const std::vector<ValueId>& inputs = graph_->nodes[node].inputs;
      return std::all_of(inputs.begin(), inputs.end(), [&](ValueId id) {
        return id == kNone || SameConstant(sibling_.graph->values[id], graph_->values[id]);
      });
    });
  }

  const std::shared_ptr<const Graph>& graph_;
  const PlanSources& sources_;
  const Plan& sibling_;
  const Delegates delegates_;
  ExecutableMaker& maker_;
  GraphView view_;
};

}  // namespace

std::shared_ptr<Plan> RespecializePlan(const std::shared_ptr<const Graph>& graph, Delegates delegates,
                                       const PlanSources& sources, ExecutableMaker& maker) {
  Carrier carrier(graph, sources, delegates, maker);
  return carrier.IsPossible() ? carrier.Run() : nullptr;
}

}  // namespace deputy::host
