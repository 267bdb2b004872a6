#include "plugin/proxy/placement_answers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "plugin/checks/handles.hpp"
#include "plugin/checks/text.hpp"

namespace deputy::host {
namespace {

constexpr size_t kMaxReason = 512;

std::optional<uint64_t> Known(uint64_t amount) {
  return amount == DEPUTY_AMOUNT_UNKNOWN ? std::nullopt : std::optional<uint64_t>(amount);
}

}  // namespace

deputy_status* ClaimCollector::Add(void* self, const deputy_claim* claim) {
  auto& collector = *static_cast<ClaimCollector*>(self);
  return AnswerOfSink([&] { return collector.Take(claim); },
                      [&](const std::string& fault) { collector.faults_.push_back(fault); });
}

std::string ClaimCollector::Take(const deputy_claim* claim) {
  if (claim == nullptr || !DEPUTY_HAS(claim, deputy_claim, handle)) return "a claim has an invalid struct_size";
  if (std::string fault = CheckNodes(*claim); !fault.empty()) return fault;
  if (std::string fault = CheckValues(claim->inputs, claim->input_count, "input"); !fault.empty()) return fault;
  if (std::string fault = CheckValues(claim->outputs, claim->output_count, "output"); !fault.empty()) return fault;
  if (claim->handle != nullptr && handles_.count(claim->handle) != 0) return "a claim has the handle of another claim";
  PartitionSpec spec;
  spec.nodes.assign(claim->nodes, claim->nodes + claim->node_count);
  std::sort(spec.nodes.begin(), spec.nodes.end(),
            [&](NodeId a, NodeId b) { return graph_.position(a) < graph_.position(b); });
  if (claim->input_count != 0) spec.inputs.assign(claim->inputs, claim->inputs + claim->input_count);
  if (claim->output_count != 0) spec.outputs.assign(claim->outputs, claim->outputs + claim->output_count);
  spec.claim = claim->handle;
  taken_.insert(spec.nodes.begin(), spec.nodes.end());
  if (claim->handle != nullptr) handles_.insert(claim->handle);
  claims_.push_back(std::move(spec));
  return {};
}

std::string ClaimCollector::CheckNodes(const deputy_claim& claim) const {
  if (claim.node_count == 0 || claim.nodes == nullptr) return "a claim has no nodes";
  if (claim.node_count > graph_.node_count())
    return fmt::format("a claim has {} nodes, the graph has {}", claim.node_count, graph_.node_count());
  std::set<NodeId> own;
  for (uint32_t i = 0; i < claim.node_count; ++i) {
    const NodeId node = claim.nodes[i];
    if (graph_.position(node) == graph_.node_count())
      return fmt::format("it claims node {}, which does not exist", node);
    const std::string name = Describe(graph_.graph(), node);
    if (!graph_.offered(node)) return fmt::format("it claims {}, which was not offered", name);
    if (taken_.count(node) != 0) return fmt::format("it claims {} twice", name);
    if (!own.insert(node).second) return fmt::format("a claim names {} twice", name);
  }
  return {};
}

std::string ClaimCollector::CheckValues(const deputy_value_id* values, uint32_t count, const char* kind) const {
  if (count == 0) return {};
  const size_t all = graph_.graph().values.size();
  if (values == nullptr || count > all)
    return fmt::format("a claim has {} {}s, the graph has {} values", count, kind, all);
  std::set<ValueId> seen;
  for (uint32_t i = 0; i < count; ++i) {
    if (values[i] >= all) return fmt::format("{} {} of a claim is value {}, which does not exist", kind, i, values[i]);
    if (!seen.insert(values[i]).second) return fmt::format("a claim names value {} twice as {}", values[i], kind);
  }
  return {};
}

deputy_status* GroupCollector::Add(void* self, const deputy_group* group) {
  auto& collector = *static_cast<GroupCollector*>(self);
  return AnswerOfSink([&] { return collector.Take(group); },
                      [&](const std::string& fault) { collector.faults_.push_back(fault); });
}

std::string GroupCollector::Take(const deputy_group* group) {
  if (group == nullptr || !DEPUTY_HAS(group, deputy_group, nodes)) return "a group has an invalid struct_size";
  if (group->node_count < 2 || group->nodes == nullptr)
    return fmt::format("a group has {} nodes; at least two are needed",
                       group->nodes == nullptr ? 0 : group->node_count);
  if (group->node_count > graph_.node_count())
    return fmt::format("a group has {} nodes, the graph has {}", group->node_count, graph_.node_count());
  std::vector<NodeId> nodes(group->nodes, group->nodes + group->node_count);
  std::set<NodeId> own;
  for (const NodeId node : nodes) {
    if (graph_.position(node) == graph_.node_count())
      return fmt::format("a group names node {}, which does not exist", node);
    const std::string name = Describe(graph_.graph(), node);
    if (taken_.count(node) != 0) return fmt::format("{} is in two groups", name);
    if (!own.insert(node).second) return fmt::format("a group names {} twice", name);
  }
  std::sort(nodes.begin(), nodes.end(), [&](NodeId a, NodeId b) { return graph_.position(a) < graph_.position(b); });
  taken_.insert(nodes.begin(), nodes.end());
  groups_.push_back(std::move(nodes));
  return {};
}

void EstimateCollector::Answer(void* self, const deputy_estimate* estimate) {
  auto& collector = *static_cast<EstimateCollector*>(self);
  try {
    std::string fault = collector.Take(estimate);
    if (!fault.empty()) collector.faults_.push_back(std::move(fault));
  } catch (...) {  // no memory: everything stays unknown; nothing may be thrown through the plugin
    collector.estimate_ = Estimate();
  }
}

std::string EstimateCollector::Take(const deputy_estimate* raw) {
  if (answered_) return "it answers twice about one partition";
  if (raw == nullptr || !DEPUTY_HAS(raw, deputy_estimate, reserved)) return "an estimate has an invalid struct_size";
  answered_ = true;
  if (raw->feasible > 1) return fmt::format("'feasible' must be 0 or 1, got {}", raw->feasible);
  const CopiedText reason = CopyText(raw->reason, kMaxReason);
  if (!reason.fault.empty()) return "its reason " + reason.fault;
  if (raw->give_back_count > nodes_.size() || (raw->give_back_count != 0 && raw->give_back == nullptr))
    return fmt::format("it gives back {} of {} nodes", raw->give_back_count, nodes_.size());
  Estimate estimate;
  const std::set<NodeId> members(nodes_.begin(), nodes_.end());
  std::set<NodeId> given;
  for (uint32_t i = 0; i < raw->give_back_count; ++i) {
    const NodeId node = raw->give_back[i];
    if (members.count(node) == 0) return fmt::format("it gives back node {}, which the partition does not have", node);
    if (!given.insert(node).second) return fmt::format("it gives back {} twice", Describe(graph_, node));
  }
  // A delegate that gives back all nodes refuses the partition.
  estimate.feasible = raw->feasible == 1 && given.size() < members.size();
  estimate.reason = CleanText(reason.text, kMaxReason);
  estimate.latency_ns = Known(raw->latency_ns);
  estimate.memory_bytes = Known(raw->memory_bytes);
  estimate.energy_nj = Known(raw->energy_nj);
  if (estimate.feasible) estimate.give_back.assign(given.begin(), given.end());
  estimate_ = std::move(estimate);
  return {};
}

}  // namespace deputy::host
