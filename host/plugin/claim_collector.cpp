#include "plugin/claim_collector.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "plugin/status_handle.hpp"

namespace deputy::host {

deputy_status* ClaimCollector::Add(void* self, const deputy_claim* claim) {
  auto& collector = *static_cast<ClaimCollector*>(self);
  return AnswerOfSink([&] { return collector.Take(claim); },
                      [&](const std::string& fault) { collector.faults_.push_back(fault); });
}

std::string ClaimCollector::Take(const deputy_claim* claim) {
  if (claim == nullptr || !DEPUTY_HAS(claim, deputy_claim, handle)) return "a claim without its struct_size";
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
    return fmt::format("a claim has {} nodes, the graph {}", claim.node_count, graph_.node_count());
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
  if (values == nullptr || count > all) return fmt::format("a claim has {} {}s, the graph {} values", count, kind, all);
  std::set<ValueId> seen;
  for (uint32_t i = 0; i < count; ++i) {
    if (values[i] >= all) return fmt::format("{} {} of a claim is value {}, which does not exist", kind, i, values[i]);
    if (!seen.insert(values[i]).second) return fmt::format("a claim names value {} twice as {}", values[i], kind);
  }
  return {};
}

}  // namespace deputy::host
