#include "plan/step_health.hpp"

#include "plan/partition_key.hpp"

namespace deputy::host {
namespace {

// The key of the verdict on a partition; none: it has no verdict.
std::optional<Digest> VerdictKeyOf(const Graph& graph, const PlacedPartition& placed, const HostedDelegate& owner,
                                   const VerdictSources& sources) {
  if (sources.verdicts == nullptr || owner.health == nullptr || !owner.health->handling().verifies() ||
      !owner.verdict_scope)
    return std::nullopt;
  return VerdictKey(graph, placed.spec, *owner.verdict_scope, sources.model);
}

// A resized or restored executable may be wrong where one that was compiled for the shapes is right.
Digest KeyOf(ExecutableOrigin origin, const Digest& compiled) {
  switch (origin) {
    case ExecutableOrigin::kResized: return Digester().AddText("deputy resized").Add(compiled).Finish();
    case ExecutableOrigin::kRestored: return Digester().AddText("deputy restored").Add(compiled).Finish();
    default: return compiled;
  }
}

}  // namespace

std::optional<PartitionVerdict> KnownFault(const Graph& graph, const PlacedPartition& placed,
                                           const HostedDelegate& owner, const PlanSources& sources) {
  const std::optional<Digest> key = VerdictKeyOf(graph, placed, owner, sources.verdicts);
  if (!key) return std::nullopt;
  for (const ExecutableOrigin origin :
       {ExecutableOrigin::kCompiled, ExecutableOrigin::kResized, ExecutableOrigin::kRestored})
    if (std::optional<PartitionVerdict> known =
            sources.verdicts.verdicts->Find(KeyOf(origin, *key), placed.spec.nodes.size());
        known && !known->right)
      return known;
  return std::nullopt;
}

Status WrongResult(const PartitionVerdict& verdict) {
  return Error(StatusCode::kAborted, "wrong result of {}", verdict.text);
}

std::shared_ptr<StepHealth> HealthOf(const Graph& graph, const PlacedPartition& placed, const Step& step,
                                     const HostedDelegate& owner, const PlanSources& sources) {
  if (step.executable == nullptr || owner.health == nullptr) return nullptr;
  const RunHandling& handling = owner.health->handling();
  if (!handling.falls_back && !handling.verifies()) return nullptr;
  std::optional<Digest> key = VerdictKeyOf(graph, placed, owner, sources.verdicts);
  if (key) key = KeyOf(step.origin, *key);
  auto health = std::make_shared<StepHealth>(owner.health, key);
  const std::optional<PartitionVerdict> verdict =
      key ? sources.verdicts.verdicts->Find(*key, placed.spec.nodes.size()) : std::nullopt;
  if (verdict && verdict->right) health->SetVerified();
  return health;
}

}  // namespace deputy::host
