#include "plan/plan.hpp"

#include <fmt/format.h>

#include "base/plural.hpp"
#include "graph/graph.hpp"

namespace deputy::host {
namespace {

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

std::vector<std::string> NamesOf(Delegates delegates) {
  std::vector<std::string> names;
  for (const HostedDelegate& delegate : delegates) names.push_back(delegate->name());
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

std::string SummarizePlacement(const Plan& plan, Delegates delegates) {
  std::vector<Share> shares(delegates.size());
  Count(plan, shares);
  size_t nodes = 0, partitions = 0;
  uint64_t multiply_adds = 0;
  for (size_t d = 0; d < shares.size(); ++d) {
    nodes += shares[d].nodes;
    multiply_adds += shares[d].multiply_adds;
    // Nodes of the CPU are partitions of their own; together they count as one.
    partitions += IsCpu(delegates, d) ? (shares[d].nodes != 0 ? 1 : 0) : shares[d].partitions;
  }
  const auto shown = [&](size_t d) {
    return shares[d].nodes != 0 || !delegates[d]->traits().runs_custom_operators_only;
  };
  size_t count = 0;
  for (size_t d = 0; d < shares.size(); ++d) count += shown(d) ? 1 : 0;
  std::string text = Plural(count, "delegate") + ", " + Plural(partitions, "partition") + ":";
  for (size_t d = 0; d < shares.size(); ++d) {
    if (!shown(d)) continue;
    text += fmt::format("{}{} {}", d == 0 ? " " : ", ", delegates[d]->name(), shares[d].nodes);
    if (d == 0) text += "/" + Plural(nodes, "node");
    if (multiply_adds != 0 && shares[d].multiply_adds != 0)
      text += fmt::format(" ({:.0f} % of multiply-adds)",
                          100.0 * static_cast<double>(shares[d].multiply_adds) / static_cast<double>(multiply_adds));
  }
  return text;
}

}  // namespace deputy::host
