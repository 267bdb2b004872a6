#include "plugin/proxy/answer_sinks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "plugin/checks/handles.hpp"
#include "plugin/checks/text.hpp"

namespace deputy::host {
namespace {

constexpr size_t kMaxText = 512;

// Passes the collector behind `self` to `add`, which returns the fault of an answer.
template <class Collector, class Add>
deputy_status* Answer(void* self, Add&& add) {
  auto& collector = *static_cast<Collector*>(self);
  return AnswerOfSink([&] { return add(collector); }, [&](const std::string& fault) { collector.Refuse(fault); });
}

bool IsMissing(const uint32_t* ids, uint32_t count) { return ids == nullptr && count != 0; }

void AddVerdict(void* self, deputy_node_id node, deputy_reason reason, deputy_str detail) {
  const StatusHandle refused(Answer<SupportCollector>(self, [&](SupportCollector& collector) {
    const size_t size = detail.data == nullptr ? 0 : std::min<size_t>(detail.size, kMaxText);
    return collector.Add(node, reason, CleanText(std::string_view(detail.data, size), kMaxText));
  }));
}

deputy_status* AddClaim(void* self, const deputy_claim* claim) {
  return Answer<ClaimCollector>(self, [&](ClaimCollector& collector) -> std::string {
    if (claim == nullptr || !DEPUTY_HAS(claim, deputy_claim, handle)) return "a claim has an invalid struct_size";
    if (IsMissing(claim->nodes, claim->node_count)) return "a claim has no nodes";
    if (IsMissing(claim->inputs, claim->input_count) || IsMissing(claim->outputs, claim->output_count))
      return "a claim counts inputs or outputs that it does not list";
    return collector.Add({claim->nodes, claim->node_count}, {claim->inputs, claim->input_count},
                         {claim->outputs, claim->output_count}, claim->handle);
  });
}

deputy_status* AddGroup(void* self, const deputy_group* group) {
  return Answer<GroupCollector>(self, [&](GroupCollector& collector) -> std::string {
    if (group == nullptr || !DEPUTY_HAS(group, deputy_group, nodes)) return "a group has an invalid struct_size";
    return collector.Add({group->nodes, group->nodes == nullptr ? 0 : group->node_count});
  });
}

std::optional<uint64_t> Known(uint64_t amount) {
  return amount == DEPUTY_AMOUNT_UNKNOWN ? std::nullopt : std::optional<uint64_t>(amount);
}

void AddEstimate(void* self, const deputy_estimate* raw) {
  const StatusHandle refused(Answer<EstimateCollector>(self, [&](EstimateCollector& collector) -> std::string {
    if (raw == nullptr || !DEPUTY_HAS(raw, deputy_estimate, reserved)) return "an estimate has an invalid struct_size";
    if (raw->feasible > 1) return fmt::format("'feasible' must be 0 or 1, got {}", raw->feasible);
    const CopiedText reason = CopyText(raw->reason, kMaxText);
    if (!reason.fault.empty()) return "its reason " + reason.fault;
    if (IsMissing(raw->give_back, raw->give_back_count)) return "it counts nodes to give back that it does not list";
    Estimate estimate{raw->feasible == 1,     CleanText(reason.text, kMaxText),
                      Known(raw->latency_ns), Known(raw->memory_bytes),
                      Known(raw->energy_nj),  {}};
    return collector.Add(std::move(estimate), {raw->give_back, raw->give_back_count});
  }));
}

}  // namespace

deputy_support_sink SinkOf(SupportCollector& to) { return {sizeof(deputy_support_sink), 0, &to, AddVerdict}; }
deputy_claim_sink SinkOf(ClaimCollector& to) { return {sizeof(deputy_claim_sink), 0, &to, AddClaim}; }
deputy_group_sink SinkOf(GroupCollector& to) { return {sizeof(deputy_group_sink), 0, &to, AddGroup}; }
deputy_estimate_sink SinkOf(EstimateCollector& to) { return {sizeof(deputy_estimate_sink), 0, &to, AddEstimate}; }

}  // namespace deputy::host
