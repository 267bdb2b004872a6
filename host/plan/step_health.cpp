#include "plan/step_health.hpp"

#include "plan/partition_key.hpp"

namespace deputy::host {
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

}  // namespace deputy::host
