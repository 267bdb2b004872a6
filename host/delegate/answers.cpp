#include "delegate/answers.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/plural.hpp"
#include "deputy/abi/base.h"

namespace deputy::host {

const std::vector<uint32_t>& AnswerCollector::Positions() {
  if (positions_.empty()) {
    positions_.resize(view_.graph->nodes.size(), kNone);
    for (uint32_t i = 0; i < view_.order.size(); ++i) positions_[view_.order[i]] = i;
  }
  return positions_;
}

void AnswerCollector::Refuse(std::string fault) {
  if (faults_++ == 0) first_fault_ = std::move(fault);
}

std::string AnswerCollector::Faults() const {
  return faults_ < 2 ? first_fault_ : fmt::format("{} (and {} more)", first_fault_, faults_ - 1);
}

std::string AnswerCollector::Take(const char* kind, bool offered, std::span<const NodeId> nodes,
                                  std::vector<NodeId>& into) {
  if (nodes.size() > view_.order.size())
    return fmt::format("a {} has {} nodes, the graph has {}", kind, nodes.size(), view_.order.size());
  std::set<NodeId> own;
  for (const NodeId node : nodes) {
    if (!IsShown(node)) return fmt::format("a {} names node {}, which does not exist", kind, node);
    const std::string name = Describe(graph(), node);
    if (offered && !IsOffered(node)) return fmt::format("a {} names {}, which was not offered", kind, name);
    if (taken_.count(node) != 0) return fmt::format("{} is in two {}s", name, kind);
    if (!own.insert(node).second) return fmt::format("a {} names {} twice", kind, name);
  }
  into.assign(nodes.begin(), nodes.end());
  const std::vector<uint32_t>& positions = Positions();
  std::sort(into.begin(), into.end(), [&](NodeId a, NodeId b) { return positions[a] < positions[b]; });
  taken_.merge(own);
  return {};
}

std::string SupportCollector::Add(NodeId node, uint32_t reason, std::string detail) {
  if (!IsShown(node)) return fmt::format("it answers for node {}, which does not exist", node);
  if (!IsOffered(node)) return fmt::format("it answers for {}, which was not offered", Describe(graph(), node));
  if (verdicts_[node].reason != Reason::kNotAnswered)
    return fmt::format("it answers twice for {}", Describe(graph(), node));
  const bool known = reason <= static_cast<uint32_t>(Reason::kOther);
  verdicts_[node] = {known ? static_cast<Reason>(reason) : Reason::kOther, std::move(detail)};
  // A vendor's own reason, which reports show as it is.
  if (reason >= DEPUTY_VENDOR_FIRST) {
    verdicts_[node].detail += fmt::format("{}(reason {})", verdicts_[node].detail.empty() ? "" : " ", reason);
    return "";
  }
  return known ? "" : fmt::format("it answers {} with the unknown reason {}", Describe(graph(), node), reason);
}

std::string ClaimCollector::Add(std::span<const NodeId> nodes, std::span<const ValueId> inputs,
                                std::span<const ValueId> outputs, void* handle) {
  if (nodes.empty()) return "a claim has no nodes";
  if (std::string fault = CheckValues(inputs, "input"); !fault.empty()) return fault;
  if (std::string fault = CheckValues(outputs, "output"); !fault.empty()) return fault;
  if (handle != nullptr && handles_.count(handle) != 0) return "a claim has the handle of another claim";
  PartitionSpec spec;
  if (std::string fault = Take("claim", /*offered=*/true, nodes, spec.nodes); !fault.empty()) return fault;
  spec.inputs.assign(inputs.begin(), inputs.end());
  spec.outputs.assign(outputs.begin(), outputs.end());
  spec.claim = handle;
  if (handle != nullptr) handles_.insert(handle);
  claims_.push_back(std::move(spec));
  return {};
}

std::string ClaimCollector::CheckValues(std::span<const ValueId> values, const char* kind) const {
  const size_t all = graph().values.size();
  if (values.size() > all) return fmt::format("a claim has {} {}s, the graph has {} values", values.size(), kind, all);
  std::set<ValueId> seen;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] >= all) return fmt::format("{} {} of a claim is value {}, which does not exist", kind, i, values[i]);
    if (!seen.insert(values[i]).second) return fmt::format("a claim names value {} twice as {}", values[i], kind);
  }
  return {};
}

std::string GroupCollector::Add(std::span<const NodeId> nodes) {
  if (nodes.size() < 2) return fmt::format("a group has {}; at least two are needed", Plural(nodes.size(), "node"));
  std::vector<NodeId> group;
  std::string fault = Take("group", /*offered=*/false, nodes, group);
  if (fault.empty()) groups_.push_back(std::move(group));
  return fault;
}

std::string EstimateCollector::Add(Estimate estimate, std::span<const NodeId> give_back) {
  if (std::exchange(answered_, true)) return "it answers twice about one partition";
  if (give_back.size() > nodes_.size())
    return fmt::format("it gives back {} of {} nodes", give_back.size(), nodes_.size());
  const std::set<NodeId> members(nodes_.begin(), nodes_.end());
  std::set<NodeId> given;
  for (const NodeId node : give_back) {
    if (members.count(node) == 0) return fmt::format("it gives back node {}, which the partition does not have", node);
    if (!given.insert(node).second) return fmt::format("it gives back {} twice", Describe(graph(), node));
  }
  // A delegate that gives back all nodes refuses the partition.
  estimate.feasible = estimate.feasible && given.size() < members.size();
  if (estimate.feasible) estimate.give_back.assign(given.begin(), given.end());
  estimate_ = std::move(estimate);
  return {};
}

}  // namespace deputy::host
