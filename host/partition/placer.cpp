#include "partition/placer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "base/log.hpp"
#include "partition/assignment.hpp"
#include "partition/overlap.hpp"
#include "partition/partition_builder.hpp"

namespace deputy::host {
namespace {

class Placer {
 public:
  Placer(const Graph& graph, Delegates delegates, const PlacementOptions& options, SupportMatrix& support)
      : graph_(graph),
        delegates_(delegates),
        assignment_(graph, delegates, options, support),
        whole_{&graph, std::vector<NodeId>(graph.nodes.size()), std::vector<uint8_t>(graph.nodes.size(), 0)},
        builder_(graph, delegates, assignment_) {
    std::iota(whole_.order.begin(), whole_.order.end(), NodeId{0});
  }

  // All but the regions.
  Result<Placement> Run(bool may_overlap) {
    DEPUTY_ASSIGN_OR_RETURN(Clustering clustering, FindStableClusters());
    if (may_overlap) CutToOverlap(clustering);
    DEPUTY_ASSIGN_OR_RETURN(Placement placement, builder_.Build(clustering));
    for (PlacedPartition& placed : placement.partitions) {
      const auto estimate = estimates_.find({placed.delegate, placed.spec.nodes});
      if (estimate != estimates_.end()) placed.estimate = std::make_shared<const Estimate>(estimate->second);
    }
    placement.verdicts = assignment_.TakeVerdicts();
    return placement;
  }

 private:
  // Rejects nodes of wrong claims, of partitions that are too small and, by the estimate of their delegate, of
  // partitions that others run better, until nothing changes. Terminates: each iteration removes at least one
  // (delegate, node) pair for good.
  Result<Clustering> FindStableClusters() {
    for (;;) {
      assignment_.AssignFree();
      DEPUTY_RETURN_IF_ERROR(assignment_.RequireOwners());
      Clustering clustering = builder_.Clusters();
      if (!RejectWrongClaims(clustering) && !RejectSmall(clustering) && !RejectByEstimate(clustering))
        return clustering;
    }
  }

  bool RejectWrongClaims(const Clustering& clustering) {
    bool changed = false;
    for (uint32_t i = 0; i < clustering.clusters.size(); ++i) {
      const std::span<const NodeId> cluster = clustering.clusters[i];
      if (assignment_.ClaimOf(cluster) == nullptr) continue;
      const Result<PartitionSpec> spec = builder_.SpecOf(clustering, i);
      if (spec.ok()) continue;
      const size_t d = assignment_.owner(cluster.front());
      Log(LogLevel::kWarning, "{}: {}; refused", delegates_[d]->name(), spec.status().message());
      assignment_.Reject(d, cluster, {Reason::kOther, spec.status().message()});
      changed = true;
    }
    return changed;
  }

  bool RejectSmall(const Clustering& clustering) {
    bool changed = false;
    for (uint32_t i = 0; i < clustering.clusters.size(); ++i) {
      const std::span<const NodeId> cluster = clustering.clusters[i];
      const size_t d = assignment_.owner(cluster.front());
      if (assignment_.ClaimOf(cluster) != nullptr) continue;  // checked when it was proposed
      std::string small = assignment_.TooSmall(d, cluster);
      if (small.empty()) continue;
      assignment_.Reject(d, cluster, {Reason::kPartitionTooSmall, std::move(small)});
      changed = true;
    }
    return changed;
  }

  bool RejectByEstimate(const Clustering& clustering) {
    bool changed = false;
    for (uint32_t i = 0; i < clustering.clusters.size(); ++i) {
      const std::span<const NodeId> cluster = clustering.clusters[i];
      const size_t d = assignment_.owner(cluster.front());
      if (delegates_[d]->estimator() == nullptr) continue;
      const Estimate estimate = EstimateOf(d, clustering, i);
      if (estimate.feasible && estimate.give_back.empty()) continue;
      const bool give_back = estimate.feasible && estimate_rounds_ < kMostEstimateRounds;
      Verdict why{Reason::kInfeasible, estimate.reason};
      if (estimate.feasible && !give_back) why.detail = fmt::format("it gave back nodes {} times", kMostEstimateRounds);
      assignment_.Reject(d, give_back ? std::span<const NodeId>(estimate.give_back) : cluster, why);
      changed = true;
    }
    estimate_rounds_ += changed;
    return changed;
  }

  // The parts of a cluster that was cut are cut again while that pays.
  void CutToOverlap(Clustering& clustering) {
    OverlapCuts cuts(graph_, delegates_, assignment_);
    for (uint32_t i = 0; i < clustering.clusters.size(); ++i)
      for (;;) {
        if (assignment_.ClaimOf(clustering.clusters[i]) != nullptr) break;
        const std::vector<NodeId> later = cuts.LaterPart(clustering.clusters[i]);
        if (later.empty()) break;
        Clustering cut = Cut(clustering, later);
        if (!Stands(cut, i) || !Stands(cut, static_cast<uint32_t>(clustering.clusters.size()))) break;
        clustering = std::move(cut);
      }
  }

  // Whether the delegate of a part of its cluster would keep it.
  bool Stands(const Clustering& clustering, uint32_t cluster) {
    const std::span<const NodeId> nodes = clustering.clusters[cluster];
    const size_t d = assignment_.owner(nodes.front());
    if (!assignment_.TooSmall(d, nodes).empty()) return false;
    if (delegates_[d]->estimator() == nullptr) return true;
    const Estimate estimate = EstimateOf(d, clustering, cluster);
    return estimate.feasible && estimate.give_back.empty();
  }

  // Each partition is estimated once, however often the others change. If its estimate fails, it is kept as it is.
  Estimate EstimateOf(size_t d, const Clustering& clustering, uint32_t cluster) {
    const std::span<const NodeId> nodes = clustering.clusters[cluster];
    const auto [found, is_new] = estimates_.try_emplace({d, std::vector<NodeId>(nodes.begin(), nodes.end())});
    if (!is_new) return found->second;
    PartitionSpec spec = builder_.SpecOf(clustering, cluster).value();  // wrong claims have been rejected
    spec.name = delegates_[d]->name();
    Result<Estimate> estimate = delegates_[d]->estimator()->EstimatePartition(whole_, spec);
    if (estimate.ok()) {
      found->second = std::move(estimate).value();
    } else {
      Log(LogLevel::kWarning, "{}: {}", delegates_[d]->name(), estimate.status().ToString());
    }
    return found->second;
  }

  // Delegates that keep giving nodes back would make the time quadratic.
  static constexpr int kMostEstimateRounds = 16;

  const Graph& graph_;
  const Delegates delegates_;
  Assignment assignment_;
  GraphView whole_;  // with nothing on offer
  PartitionBuilder builder_;
  std::map<std::pair<size_t, std::vector<NodeId>>, Estimate> estimates_;
  int estimate_rounds_ = 0;
};

// Its frame is gone before the regions are placed, which may be nested.
[[gnu::noinline]] Result<Placement> PlaceNodes(const Graph& graph, Delegates delegates, const PlacementOptions& options,
                                               SupportMatrix& support, bool may_overlap) {
  return Placer(graph, delegates, options, support).Run(may_overlap);
}

Status PlaceRegions(const Graph& graph, Delegates delegates, const PlacementOptions& options, SupportMatrix& support,
                    Placement& placement) {
  for (NodeId node = 0; node < graph.nodes.size(); ++node)
    for (const Region& region : graph.nodes[node].regions) {
      Result<Placement> placed = Place(*region.body, delegates, options, support, /*may_overlap=*/false);
      if (!placed.ok()) return std::move(placed).status().At(Describe(graph, node) + ", region '" + region.name + "'");
      placement.regions[node].push_back(std::move(placed).value());
    }
  return {};
}

}  // namespace

Result<Placement> Place(const Graph& graph, Delegates delegates, const PlacementOptions& options,
                        SupportMatrix& support, bool may_overlap) {
  if (delegates.empty()) return Error(StatusCode::kInternal, "placement needs the CPU");
  DEPUTY_ASSIGN_OR_RETURN(Placement placement, PlaceNodes(graph, delegates, options, support, may_overlap));
  Status status = PlaceRegions(graph, delegates, options, support, placement);
  if (status.ok()) status = CheckPlacement(graph, placement);
  if (status.ok()) return placement;
  ReleaseClaims(placement, delegates);
  return status;
}

void ReleaseClaims(Placement& placement, Delegates delegates) {
  for (PlacedPartition& partition : placement.partitions) {
    if (partition.spec.claim != nullptr) delegates[partition.delegate]->proposer()->ReleaseClaim(partition.spec.claim);
    partition.spec.claim = nullptr;
  }
  for (auto& [node, regions] : placement.regions)
    for (Placement& region : regions) ReleaseClaims(region, delegates);
}

}  // namespace deputy::host
