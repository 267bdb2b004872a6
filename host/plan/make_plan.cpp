#include "plan/make_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/log.hpp"
#include "base/memory_budget.hpp"
#include "base/plural.hpp"
#include "graph/graph.hpp"
#include "partition/placer.hpp"
#include "plan/complete_plan.hpp"
#include "plan/executable_maker.hpp"
#include "plan/respecialize.hpp"
#include "plan/step_health.hpp"

namespace deputy::host {
namespace {

// The partitions that were compiled when one was refused, so that placing again does not compile them twice.
using CompiledKey = std::tuple<const Graph*, size_t, std::vector<NodeId>>;
using Compiled = std::map<CompiledKey, Made>;

class Compiler {
 public:
  Compiler(Delegates delegates, PlacementOptions options, const PlanSources& sources)
      : delegates_(delegates),
        options_(std::move(options)),
        sources_(sources),
        maker_(sources.store, sources.model, sources.plugins) {}

  Result<std::shared_ptr<const Plan>> Run(std::shared_ptr<const Graph> graph, bool top_level) {
    const WeightMemoryScope weights(sources_.weight_limit);
    // Each iteration but the last takes a partition from a delegate for good.
    for (;;) {
      DEPUTY_ASSIGN_OR_RETURN(Placement placement, Place(*graph, delegates_, options_, support_, top_level));
      Result<bool> rejected = RejectWrong(*graph, placement);
      if (!rejected.ok() || *rejected) {
        ReleaseClaims(placement, delegates_);
        if (!rejected.ok()) return std::move(rejected).status();
        continue;
      }
      refused_ = false;
      Result<std::shared_ptr<Plan>> plan = Compile(graph, placement, top_level);
      ReleaseClaims(placement, delegates_);  // left over from a refusal
      if (!plan.ok()) return std::move(plan).status();
      if (!refused_) return std::shared_ptr<const Plan>(std::move(plan).value());
    }
  }

 private:
  // Takes nodes from delegates that are known to compute them wrongly; true if there were any. An error where a wrong
  // result is one.
  Result<bool> RejectWrong(const Graph& graph, const Placement& placement) {
    if (sources_.verdicts.verdicts == nullptr) return false;
    bool rejected = false;
    for (const PlacedPartition& placed : placement.partitions) {
      const std::optional<PartitionVerdict> verdict = KnownFault(graph, placed, delegates_[placed.delegate], sources_);
      if (!verdict) continue;
      if (!delegates_[placed.delegate].health->handling().replaces_wrong) return WrongResult(*verdict);
      for (const uint32_t position : verdict->wrong_nodes)
        options_.refused[{&graph, placed.delegate, placed.spec.nodes[position]}] = {Reason::kWrongResult,
                                                                                    verdict->text};
      rejected = true;
    }
    for (const auto& [node, placements] : placement.regions)
      for (size_t r = 0; r < placements.size(); ++r) {
        DEPUTY_ASSIGN_OR_RETURN(const bool inside, RejectWrong(*graph.nodes[node].regions[r].body, placements[r]));
        rejected = rejected || inside;
      }
    return rejected;
  }

  Result<std::shared_ptr<Plan>> Compile(const std::shared_ptr<const Graph>& graph, Placement& placement,
                                        bool top_level) {
    auto plan = std::make_shared<Plan>();
    plan->graph = graph;
    plan->delegate_names = NamesOf(delegates_);
    GraphView view{graph.get(), {}, std::vector<uint8_t>(graph->nodes.size(), 0)};
    for (NodeId node = 0; node < graph->nodes.size(); ++node) view.order.push_back(node);
    plan->steps.reserve(placement.partitions.size());
    std::vector<size_t> counts(delegates_.size(), 0), numbers(delegates_.size(), 0);
    for (const PlacedPartition& placed : placement.partitions) ++counts[placed.delegate];
    for (uint32_t index = 0; index < placement.partitions.size(); ++index) {
      PlacedPartition& placed = placement.partitions[index];
      Step step;
      step.partition = index;
      step.inputs = placed.spec.inputs;
      step.outputs = placed.spec.outputs;
      const size_t number = ++numbers[placed.delegate];
      if (sources_.progress)
        sources_.progress(
            {delegates_[placed.delegate]->name(), number, counts[placed.delegate], placed.spec.nodes.size()});
      const Node& first = graph->nodes[placed.spec.nodes.front()];
      if (!first.regions.empty()) {
        DEPUTY_RETURN_IF_ERROR(CompileRegions(first, placement.regions[placed.spec.nodes.front()], step));
      } else {
        DEPUTY_RETURN_IF_ERROR(CompilePartition(view, placed, step));
      }
      step.health = HealthOf(*graph, placed, step, delegates_[placed.delegate], sources_);
      plan->steps.push_back(std::move(step));
    }
    if (refused_) {  // to be placed again
      Keep(*plan, placement);
      return plan;
    }
    plan->placement = std::move(placement);
    placement = Placement();
    // Fused nodes take the place of others, whose weights go away.
    const WeightMemoryScope fused(sources_.weight_limit);
    CompletePlan(*plan, delegates_, top_level);
    DEPUTY_RETURN_IF_ERROR(WeightMemoryScope::Check());
    return plan;
  }

  Status CompilePartition(const GraphView& view, PlacedPartition& placed, Step& step) {
    const PartitionSpec& spec = placed.spec;
    if (!compiled_.empty() && spec.claim == nullptr) {
      const auto found = compiled_.find({view.graph, placed.delegate, spec.nodes});
      if (found != compiled_.end()) {
        step.executable = found->second.executable;
        step.origin = found->second.origin;
        step.not_cached = found->second.not_cached;
        return {};
      }
    }
    Delegate& delegate = *delegates_[placed.delegate];
    Result<Made> made = maker_.Make(delegate, view, spec);
    placed.spec.claim = nullptr;  // consumed, also on failure
    if (made.ok()) {
      step.executable = std::move(made->executable);
      step.origin = made->origin;
      step.not_cached = std::move(made->not_cached);
      return {};
    }
    const Status& why = made.status();
    // The caller gave up, which says nothing about the partition.
    const CancellationToken* token = CompilationScope::Current();
    if (token != nullptr && token->Due() &&
        (why.code() == StatusCode::kCancelled || why.code() == StatusCode::kDeadlineExceeded))
      return why;
    if (Status refused = WeightMemoryScope::Check(); !refused.ok())
      return std::move(refused).At(Describe(*view.graph, spec.nodes.front()));
    refused_ = true;
    const Estimate after = EstimateAfterRefusal(delegate, view, spec);
    const bool is_part = !after.give_back.empty();
    const std::vector<NodeId>& nodes = is_part ? after.give_back : spec.nodes;
    if (!IsCpu(delegates_, placed.delegate))
      Log(LogLevel::kWarning, "{} refused {}partition {} ({}) at compile: {}; the next delegate takes {}",
          delegate.name(), is_part ? Plural(nodes.size(), "node") + " of " : "", spec.name,
          Plural(spec.nodes.size(), "node"), why.ToString(), is_part && nodes.size() > 1 ? "them" : "it");
    for (const NodeId node : nodes)
      options_.refused[{view.graph, placed.delegate, node}] = {Reason::kRefusedAtCompile,
                                                               is_part ? after.reason : why.message()};
    return {};
  }

  // A delegate that finds out by compiling which nodes fail gives these back when it is asked once more; nothing is
  // given back by others.
  static Estimate EstimateAfterRefusal(Delegate& delegate, const GraphView& view, const PartitionSpec& spec) {
    PartitionEstimator* estimator = spec.claim == nullptr ? delegate.estimator() : nullptr;
    if (estimator == nullptr) return {};
    Result<Estimate> estimate = estimator->EstimatePartition(view, spec);
    if (!estimate.ok() || !estimate->feasible || estimate->give_back.size() >= spec.nodes.size()) return {};
    return std::move(estimate).value();
  }

  Status CompileRegions(const Node& node, std::vector<Placement>& placements, Step& step) {
    step.inputs = node.inputs;
    step.outputs = node.outputs;
    for (const char* name : {"then_branch", "else_branch", "body"})
      for (size_t r = 0; r < node.regions.size(); ++r) {
        if (node.regions[r].name != name) continue;
        DEPUTY_ASSIGN_OR_RETURN(std::shared_ptr<Plan> branch,
                                Compile(node.regions[r].body, placements[r], /*top_level=*/false));
        step.branches.push_back({std::move(branch), node.regions[r].captures});
      }
    return {};
  }

  void Keep(const Plan& plan, const Placement& placement) {
    for (const Step& step : plan.steps) {
      const PlacedPartition& placed = placement.partitions[step.partition];
      if (step.executable != nullptr)
        compiled_[{plan.graph.get(), placed.delegate, placed.spec.nodes}] = {step.executable, step.origin,
                                                                             step.not_cached};
      for (const Branch& branch : step.branches)
        if (!branch.plan->placement.partitions.empty())
          Keep(*branch.plan, branch.plan->placement);  // else it was refused, and kept
    }
  }

  const Delegates delegates_;
  PlacementOptions options_;
  const PlanSources& sources_;
  SupportMatrix support_;
  ExecutableMaker maker_;
  Compiled compiled_;
  bool refused_ = false;
};

}  // namespace

Result<std::shared_ptr<const Plan>> MakePlan(std::shared_ptr<const Graph> graph, Delegates delegates,
                                             PlacementOptions options, const PlanSources& sources) {
  if (sources.sibling != nullptr) {
    ExecutableMaker maker(sources.store, sources.model, sources.plugins);
    if (std::shared_ptr<const Plan> plan = RespecializePlan(graph, delegates, sources, maker)) return plan;
  }
  return Compiler(delegates, std::move(options), sources).Run(std::move(graph), /*top_level=*/true);
}

Refusals RefuseAll(const Plan& plan, const Step& step, const Verdict& verdict) {
  Refusals refused;
  for (const NodeId node : plan.placement.partitions[step.partition].spec.nodes) refused[node] = verdict;
  return refused;
}

Result<std::shared_ptr<const Plan>> MakeAlternative(const Plan& plan, const Step& step, const Refusals& refused,
                                                    Delegates delegates, PlacementOptions options,
                                                    const PlanSources& sources) {
  const PlacedPartition& placed = plan.placement.partitions[step.partition];
  std::shared_ptr<const Graph> graph =
      std::make_shared<const Graph>(Subgraph(*plan.graph, placed.spec.nodes, placed.spec.inputs, placed.spec.outputs));
  for (size_t d = 0; d <= placed.delegate; ++d) {
    for (NodeId node = 0; node < graph->nodes.size(); ++node) {
      if (d < placed.delegate) {
        options.refused[{graph.get(), d, node}] = plan.placement.verdicts[d][placed.spec.nodes[node]];
      } else if (const auto found = refused.find(placed.spec.nodes[node]); found != refused.end()) {
        options.refused[{graph.get(), d, node}] = found->second;
      }
    }
    std::erase_if(options.rules, [&](const NodeRule& rule) { return rule.to == delegates[d]->name(); });
  }
  return Compiler(delegates, std::move(options), sources).Run(std::move(graph), /*top_level=*/false);
}

namespace {

void RefuseEverywhere(const Graph& graph, size_t delegate, PlacementOptions& options) {
  for (NodeId node = 0; node < graph.nodes.size(); ++node) {
    options.refused[{&graph, delegate, node}] = {Reason::kDeniedByRule, ""};
    for (const Region& region : graph.nodes[node].regions) RefuseEverywhere(*region.body, delegate, options);
  }
}

}  // namespace

Result<std::shared_ptr<const Plan>> MakeReference(const Plan& plan, const Step& step, Delegates delegates) {
  const PartitionSpec& spec = plan.placement.partitions[step.partition].spec;
  return MakePlanWithOnly(std::make_shared<const Graph>(Subgraph(*plan.graph, spec.nodes, spec.inputs, spec.outputs)),
                          CpuOf(delegates), delegates);
}

Result<std::shared_ptr<const Plan>> MakePlanWithOnly(std::shared_ptr<const Graph> graph, size_t delegate,
                                                     Delegates delegates, std::span<const NodeId> refused) {
  PlacementOptions options;
  for (const NodeId node : refused) options.refused[{graph.get(), delegate, node}] = {Reason::kWrongResult, ""};
  std::vector<HostedDelegate> unlimited;
  for (size_t d = 0; d < delegates.size(); ++d) {
    unlimited.emplace_back(delegates[d].delegate);
    if (d != delegate && !IsCpu(delegates, d) && !delegates[d]->traits().runs_custom_operators_only)
      RefuseEverywhere(*graph, d, options);
  }
  return Compiler(unlimited, std::move(options), {}).Run(std::move(graph), /*top_level=*/false);
}

}  // namespace deputy::host
