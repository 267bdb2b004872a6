#include "plugin/estimate_collector.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "plugin/table_check.hpp"
#include "plugin/text.hpp"

namespace deputy::host {
namespace {

constexpr size_t kMaxReason = 512;

std::optional<uint64_t> Known(uint64_t amount) {
  return amount == DEPUTY_AMOUNT_UNKNOWN ? std::nullopt : std::optional<uint64_t>(amount);
}

}  // namespace

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
  if (raw == nullptr || !DEPUTY_HAS(raw, deputy_estimate, reserved)) return "an estimate without its struct_size";
  answered_ = true;
  if (raw->feasible > 1) return fmt::format("'feasible' is {}", raw->feasible);
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
