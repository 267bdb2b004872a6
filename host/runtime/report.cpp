// MakeReport: a plan as plain data for the public API.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "graph/graph.hpp"
#include "runtime/model_state.hpp"
#include "runtime/placed_nodes.hpp"

namespace deputy::host {
namespace {

class Reporter {
 public:
  // `lists`: of partitions and nodes. `nodes`: where values and attributes go as well; null: they are not reported.
  Reporter(const Engine& engine, PlacementReport& report, bool lists, PlacedNodes* nodes)
      : engine_(engine), report_(report), lists_(lists), nodes_(nodes) {}

  // `replaces`: the partition that the plan is an alternative for.
  void Add(const Plan& plan, const std::string& region, const std::string& replaces = "") {
    const Graph& graph = *plan.graph;
    if (nodes_ != nullptr && replaces.empty()) nodes_->AddRegion(graph, region);
    if (lists_ && region.empty() && replaces.empty()) {  // growing by doubling would take twice the memory
      report_.partitions.reserve(report_.partitions.size() + plan.steps.size());
      report_.nodes.reserve(report_.nodes.size() + graph.nodes.size());
    }
    for (const Step& step : plan.steps) {
      const PlacedPartition& placed = plan.placement.partitions[step.partition];
      const std::string name = replaces.empty() ? placed.spec.name : replaces + ">" + placed.spec.name;
      if (const Plan* alternative = AlternativeOf(step)) {
        Add(*alternative, region, name);
        continue;
      }
      DelegateReport& delegate = report_.delegates[placed.delegate];
      // The nodes of the CPU are steps of their own and count as one partition, here as in the summary.
      const bool is_cpu = IsCpu(engine_.delegates, placed.delegate);
      delegate.partitions = is_cpu ? 1 : delegate.partitions + 1;
      delegate.nodes += placed.spec.nodes.size();
      uint64_t multiply_adds = 0;
      for (const NodeId node : placed.spec.nodes) multiply_adds += MultiplyAdds(graph, graph.nodes[node]);
      delegate.multiply_adds += multiply_adds;
      report_.multiply_adds += multiply_adds;
      if (lists_) AddLists(plan, step, name, region, replaces, multiply_adds);
      for (size_t b = 0; b < step.branches.size(); ++b)
        Add(*step.branches[b].plan, (region.empty() ? "" : region + "/") + NodeName(graph, placed.spec.nodes.front()) +
                                        "/" + RegionName(graph.nodes[placed.spec.nodes.front()], b));
    }
  }

 private:
  void AddLists(const Plan& plan, const Step& step, const std::string& name, const std::string& region,
                const std::string& replaces, uint64_t multiply_adds) {
    const Graph& graph = *plan.graph;
    const PlacedPartition& placed = plan.placement.partitions[step.partition];
    PartitionReport partition;
    partition.name = name;
    partition.replaces = replaces;
    partition.delegate = engine_.delegates[placed.delegate]->name();
    partition.region = region;
    if (placed.estimate) {
      const auto amount = [](const std::optional<uint64_t>& known) {
        return known ? static_cast<int64_t>(std::min<uint64_t>(*known, INT64_MAX)) : int64_t{-1};
      };
      partition.estimated = true;
      partition.estimate = {amount(placed.estimate->latency_ns), amount(placed.estimate->memory_bytes),
                            amount(placed.estimate->energy_nj)};
    }
    for (const ValueId id : placed.spec.inputs) partition.inputs.push_back(graph.values[id].name);
    for (const ValueId id : placed.spec.outputs) partition.outputs.push_back(graph.values[id].name);
    partition.multiply_adds = multiply_adds;
    partition.nodes.reserve(placed.spec.nodes.size());
    for (const NodeId node : placed.spec.nodes) partition.nodes.push_back(NodeName(graph, node));
    partition.overlaps = step.may_overlap;
    if (step.executable != nullptr) partition.executable = std::string(host::NameOf(step.origin));
    if (step.not_cached != nullptr) partition.not_cached = *step.not_cached;
    report_.partitions.push_back(std::move(partition));
    for (const NodeId node : placed.spec.nodes) AddNode(plan, node, placed, name, region);
  }

  static std::string RegionName(const Node& node, size_t branch) {
    if (node.regions.size() == 1) return node.regions[0].name;
    return branch == 0 ? "then_branch" : "else_branch";
  }

  void AddNode(const Plan& plan, NodeId id, const PlacedPartition& placed, const std::string& partition,
               const std::string& region) {
    const Node& node = plan.graph->nodes[id];
    NodeReport report;
    report.name = NodeName(*plan.graph, id);
    report.op_type = node.primitive.op_type();
    report.domain = node.primitive.domain();
    report.since_version = node.primitive.since_version();
    report.delegate = engine_.delegates[placed.delegate]->name();
    report.partition = partition;
    report.region = region;
    report.multiply_adds = MultiplyAdds(*plan.graph, node);
    for (size_t d = 0; d < engine_.delegates.size(); ++d) {
      if (d == placed.delegate) continue;
      const Verdict& why = plan.placement.verdicts[d][id];
      if (engine_.delegates[d]->traits().runs_custom_operators_only && why.reason != Reason::kSupported) continue;
      report.refusals.push_back({engine_.delegates[d]->name(), std::string(host::NameOf(why.reason)), why.detail});
    }
    report_.nodes.push_back(std::move(report));
    if (nodes_ != nullptr) nodes_->AddNode(*plan.graph, id);
  }

  const Engine& engine_;
  PlacementReport& report_;
  const bool lists_;
  PlacedNodes* nodes_;
};

PlacementReport ReportOf(const Plan& plan, const Engine& engine, bool lists, PlacedNodes* nodes) {
  PlacementReport report;
  report.summary = SummarizePlacement(plan, engine.delegates);
  report.delegates = ReportDelegates(engine);
  Reporter(engine, report, lists, nodes).Add(plan, "");
  for (size_t d = engine.delegates.size(); d-- > 0;)
    if (engine.delegates[d]->traits().runs_custom_operators_only && report.delegates[d].nodes == 0)
      report.delegates.erase(report.delegates.begin() + static_cast<ptrdiff_t>(d));
  return report;
}

}  // namespace

std::vector<DelegateReport> ReportDelegates(const Engine& engine) {
  std::vector<DelegateReport> reports;
  for (const HostedDelegate& hosted : engine.delegates) {
    DelegateReport delegate;
    delegate.name = hosted->name();
    delegate.id = hosted->id();
    delegate.plugin = hosted.plugin_file;
    delegate.options = hosted->options();
    if (const std::optional<DeviceState> state = StateOf(*hosted)) {
      delegate.has_device = true;
      delegate.device = {
          state->device_name,          state->level_requested, state->level_granted, state->frequency_requested_hz,
          state->frequency_granted_hz, state->busy_ns,         state->runs};
    }
    reports.push_back(std::move(delegate));
  }
  return reports;
}

PlacementReport MakeReport(const Plan& plan, const Engine& engine) { return ReportOf(plan, engine, true, nullptr); }

PlacementReport MakeShares(const Plan& plan, const Engine& engine) { return ReportOf(plan, engine, false, nullptr); }

PlacedGraph MakeReportWithGraph(const Plan& plan, const Engine& engine) {
  PlacedGraph graph;
  PlacedNodes nodes(graph);
  graph.placement = ReportOf(plan, engine, true, &nodes);
  return graph;
}

}  // namespace deputy::host
