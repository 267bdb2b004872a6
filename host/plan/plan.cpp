#include "plan/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "base/log.hpp"
#include "base/memory_budget.hpp"
#include "graph/graph.hpp"
#include "partition/placer.hpp"
#include "plan/executable_maker.hpp"
#include "plan/partition_key.hpp"
#include "plan/respecialize.hpp"
#include "plan/step_order.hpp"

namespace deputy::host {
namespace {

using Delegates = std::span<const std::shared_ptr<Delegate>>;

// The partitions that were compiled when one was refused, so that placing again does not compile them twice.
using CompiledKey = std::tuple<const Graph*, size_t, std::vector<NodeId>>;
using Compiled = std::map<CompiledKey, Made>;

class Compiler {
 public:
  Compiler(Delegates delegates, PlacementOptions options, const PlanSources& sources)
      : delegates_(delegates), options_(std::move(options)), sources_(sources), maker_(sources.store) {
    for (const std::shared_ptr<Delegate>& delegate : delegates) raw_.push_back(delegate.get());
  }

  Result<std::shared_ptr<const Plan>> Run(std::shared_ptr<const Graph> graph, bool top_level) {
    const WeightMemoryScope weights(sources_.weight_limit);
    // Each iteration but the last takes a partition from a delegate for good.
    for (;;) {
      DEPUTY_ASSIGN_OR_RETURN(Placement placement, Place(*graph, raw_, options_, support_));
      Result<bool> rejected = RejectWrong(*graph, placement);
      if (!rejected.ok() || *rejected) {
        ReleaseClaims(placement, raw_);
        if (!rejected.ok()) return std::move(rejected).status();
        continue;
      }
      refused_ = false;
      Result<std::shared_ptr<Plan>> plan = Compile(graph, placement, top_level);
      ReleaseClaims(placement, raw_);  // left over from a refusal
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
      const std::optional<PartitionVerdict> verdict = KnownFault(graph, placed, sources_);
      if (!verdict) continue;
      if (!sources_.health[placed.delegate]->handling().replaces_wrong) return WrongResult(*verdict);
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
      step.health = HealthOf(*graph, placed, step, sources_);
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
    if (placed.delegate + 1 != delegates_.size())
      Log(LogLevel::kWarning, "{} refused partition {} ({} nodes) at compile: {}; the next delegate takes it",
          delegate.name(), spec.name, spec.nodes.size(), why.ToString());
    for (const NodeId node : spec.nodes)
      options_.refused[{view.graph, placed.delegate, node}] = {Reason::kRefusedAtCompile, why.message()};
    return {};
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
  std::vector<Delegate*> raw_;
  PlacementOptions options_;
  const PlanSources& sources_;
  SupportMatrix support_;
  ExecutableMaker maker_;
  Compiled compiled_;
  bool refused_ = false;
};

struct Share {
  size_t nodes = 0, partitions = 0;
  uint64_t multiply_adds = 0;
};

void Count(const Plan& plan, std::vector<Share>& shares) {
  for (const Step& step : plan.steps) {
    if (const Plan* alternative = AlternativeOf(step)) {
      Count(*alternative, shares);
      continue;
    }
    const PlacedPartition& partition = plan.placement.partitions[step.partition];
    Share& share = shares[partition.delegate];
    ++share.partitions;
    share.nodes += partition.spec.nodes.size();
    for (const NodeId node : partition.spec.nodes)
      share.multiply_adds += MultiplyAdds(*plan.graph, plan.graph->nodes[node]);
    for (const Branch& branch : step.branches) Count(*branch.plan, shares);
  }
}

}  // namespace

Result<std::shared_ptr<const Plan>> MakePlan(std::shared_ptr<const Graph> graph,
                                             std::span<const std::shared_ptr<Delegate>> delegates,
                                             PlacementOptions options, const PlanSources& sources) {
  if (sources.sibling != nullptr) {
    ExecutableMaker maker(sources.store);
    if (std::shared_ptr<const Plan> plan = RespecializePlan(graph, delegates, options, sources, maker)) return plan;
  }
  return Compiler(delegates, std::move(options), sources).Run(std::move(graph), /*top_level=*/true);
}

Refusals RefuseAll(const Plan& plan, const Step& step, const Verdict& verdict) {
  Refusals refused;
  for (const NodeId node : plan.placement.partitions[step.partition].spec.nodes) refused[node] = verdict;
  return refused;
}

Result<std::shared_ptr<const Plan>> MakeAlternative(const Plan& plan, const Step& step, const Refusals& refused,
                                                    std::span<const std::shared_ptr<Delegate>> delegates,
                                                    PlacementOptions options, const PlanSources& sources) {
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

Result<std::shared_ptr<const Plan>> MakeReference(const Plan& plan, const Step& step,
                                                  std::span<const std::shared_ptr<Delegate>> delegates) {
  const PartitionSpec& spec = plan.placement.partitions[step.partition].spec;
  return MakePlanWithOnly(std::make_shared<const Graph>(Subgraph(*plan.graph, spec.nodes, spec.inputs, spec.outputs)),
                          delegates.size() - 1, delegates);
}

Result<std::shared_ptr<const Plan>> MakePlanWithOnly(std::shared_ptr<const Graph> graph, size_t delegate,
                                                     std::span<const std::shared_ptr<Delegate>> delegates) {
  PlacementOptions options;
  options.delegates.resize(delegates.size());
  for (size_t d = 0; d + 1 < delegates.size(); ++d)
    if (d != delegate && !delegates[d]->runs_custom_operators_only()) RefuseEverywhere(*graph, d, options);
  return Compiler(delegates, std::move(options), {}).Run(std::move(graph), /*top_level=*/false);
}

namespace {

// The key of the verdict on a partition; none: it has no verdict.
std::optional<Digest> VerdictKeyOf(const Graph& graph, const PlacedPartition& placed, const PlanSources& sources) {
  const VerdictSources& from = sources.verdicts;
  const size_t d = placed.delegate;
  if (from.verdicts == nullptr || d >= sources.health.size() || sources.health[d] == nullptr ||
      !sources.health[d]->handling().verifies() || !from.delegates[d])
    return std::nullopt;
  return VerdictKey(graph, placed.spec, *from.delegates[d], from.model);
}

// A resized executable may be wrong where one that was compiled for the shapes is right.
Digest KeyOfResized(const Digest& compiled) { return Digester().AddText("deputy resized").Add(compiled).Finish(); }

}  // namespace

std::optional<PartitionVerdict> KnownFault(const Graph& graph, const PlacedPartition& placed,
                                           const PlanSources& sources) {
  const std::optional<Digest> key = VerdictKeyOf(graph, placed, sources);
  if (!key) return std::nullopt;
  for (const Digest& one : {*key, KeyOfResized(*key)})
    if (std::optional<PartitionVerdict> known = sources.verdicts.verdicts->Find(one, placed.spec.nodes.size());
        known && !known->right)
      return known;
  return std::nullopt;
}

Status WrongResult(const PartitionVerdict& verdict) {
  return Error(StatusCode::kAborted, "wrong result of {}", verdict.text);
}

std::shared_ptr<StepHealth> HealthOf(const Graph& graph, const PlacedPartition& placed, const Step& step,
                                     const PlanSources& sources) {
  const size_t d = placed.delegate;
  if (step.executable == nullptr || d + 1 >= sources.health.size() || sources.health[d] == nullptr) return nullptr;
  const RunHandling& handling = sources.health[d]->handling();
  if (!handling.falls_back && !handling.verifies()) return nullptr;
  std::optional<Digest> key = VerdictKeyOf(graph, placed, sources);
  if (key && step.origin == ExecutableOrigin::kResized) key = KeyOfResized(*key);
  auto health = std::make_shared<StepHealth>(sources.health[d], key);
  const std::optional<PartitionVerdict> verdict =
      key ? sources.verdicts.verdicts->Find(*key, placed.spec.nodes.size()) : std::nullopt;
  if (verdict && verdict->right) health->SetVerified();
  return health;
}

namespace {

// Replaces the executables of nodes of the last delegate by those of fused nodes. Its steps none of whose results is
// read any more have nothing to run.
void FuseSteps(Plan& plan, Delegate& last, size_t number) {
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
  std::vector<FusedNode> fused = last.Fuse(view);
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

void CompletePlan(Plan& plan, std::span<const std::shared_ptr<Delegate>> delegates, bool top_level) {
  FuseSteps(plan, *delegates.back(), delegates.size() - 1);
  plan.overlaps = std::any_of(plan.steps.begin(), plan.steps.end(), [&](const Step& step) {
    return delegates[plan.placement.partitions[step.partition].delegate]->overlaps();
  });
  PlanBuffers(plan, plan.overlaps ? StepOrder(plan) : StepOrder(), delegates.size() - 1, top_level);
  plan.weight_bytes = 0;
  for (const Step& step : plan.steps)
    if (step.executable != nullptr) plan.weight_bytes += step.executable->weight_bytes();
}

std::vector<std::string> NamesOf(std::span<const std::shared_ptr<Delegate>> delegates) {
  std::vector<std::string> names;
  for (const std::shared_ptr<Delegate>& delegate : delegates) names.push_back(delegate->name());
  return names;
}

std::string_view NameOf(ExecutableOrigin origin) {
  switch (origin) {
    case ExecutableOrigin::kCompiled: return "compiled";
    case ExecutableOrigin::kRestored: return "restored";
    case ExecutableOrigin::kResized: return "resized";
  }
  return "compiled";
}

std::string SummarizePlacement(const Plan& plan, std::span<const std::shared_ptr<Delegate>> delegates) {
  std::vector<Share> shares(delegates.size());
  Count(plan, shares);
  size_t nodes = 0, partitions = 0;
  uint64_t multiply_adds = 0;
  for (size_t d = 0; d < shares.size(); ++d) {
    nodes += shares[d].nodes;
    multiply_adds += shares[d].multiply_adds;
    // Nodes of the CPU are partitions of their own; together they count as one.
    partitions += d + 1 == shares.size() ? (shares[d].nodes != 0 ? 1 : 0) : shares[d].partitions;
  }
  const auto shown = [&](size_t d) { return shares[d].nodes != 0 || !delegates[d]->runs_custom_operators_only(); };
  size_t count = 0;
  for (size_t d = 0; d < shares.size(); ++d) count += shown(d) ? 1 : 0;
  std::string text = fmt::format("{} delegate{}, {} partition{}:", count, count == 1 ? "" : "s", partitions,
                                 partitions == 1 ? "" : "s");
  for (size_t d = 0; d < shares.size(); ++d) {
    if (!shown(d)) continue;
    text += fmt::format("{}{} {}", d == 0 ? " " : ", ", delegates[d]->name(), shares[d].nodes);
    if (d == 0) text += fmt::format("/{} nodes", nodes);
    if (multiply_adds != 0 && shares[d].multiply_adds != 0)
      text += fmt::format(" ({:.0f} % of multiply-adds)",
                          100.0 * static_cast<double>(shares[d].multiply_adds) / static_cast<double>(multiply_adds));
  }
  return text;
}

}  // namespace deputy::host
