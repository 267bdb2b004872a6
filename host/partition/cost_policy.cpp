#include "partition/cost_policy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "partition/eligibility.hpp"
#include "partition/measured_costs.hpp"
#include "partition/owner_search.hpp"

namespace deputy::host {
namespace {

std::string TimeText(double ns) {
  return ns < 1e7 ? fmt::format("{:.1f} us", ns / 1e3) : fmt::format("{:.1f} ms", ns / 1e6);
}

// The search for one graph, kept for the reasons of its result.
class CostRanking final : public Ranking::Reasons {
 public:
  CostRanking(Eligibility& eligibility, std::shared_ptr<const CostTable> table)
      : table_(std::move(table)),
        delegates_(eligibility.delegates()),
        model_(eligibility.graph(), delegates_, *table_),
        problem_{eligibility.graph(), model_, delegates_.size(), TimesOf(eligibility)},
        costs_(problem_, FirstOwners()) {
    FindCheapestOwners(problem_, costs_);
  }

  std::vector<std::vector<uint32_t>> Ranks() const {
    const size_t nodes = problem_.graph.nodes.size();
    std::vector<std::vector<uint32_t>> ranks(delegates_.size(), std::vector<uint32_t>(nodes, 0));
    std::vector<uint32_t> order(delegates_.size());
    std::vector<double> ns(delegates_.size());
    for (NodeId node = 0; node < nodes; ++node) {
      for (uint32_t d = 0; d < delegates_.size(); ++d)
        ns[d] = problem_.ns(node, d) == kNever ? kNever : d == costs_.owner(node) ? -1 : costs_.MarginalNs(node, d);
      std::iota(order.begin(), order.end(), 0u);
      std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return ns[a] < ns[b]; });
      for (uint32_t rank = 0; rank < order.size(); ++rank)
        if (delegates_[order[rank]]->proposer() == nullptr) ranks[order[rank]][node] = rank;
    }
    return ranks;
  }

  Verdict WhyNot(size_t delegate, NodeId node, size_t owner) const override {
    if (problem_.ns(node, delegate) == kNever || problem_.ns(node, owner) == kNever)
      return {Reason::kTakenByOther, delegates_[owner]->name()};
    return {Reason::kMoreExpensive,
            fmt::format("{} here{}, {} on {}{}, with transfers",
                        TimeText(costs_.MarginalNs(node, static_cast<uint32_t>(delegate))), ClockText(delegate),
                        TimeText(costs_.MarginalNs(node, static_cast<uint32_t>(owner))), delegates_[owner]->name(),
                        ClockText(owner))};
  }

 private:
  std::vector<double> TimesOf(Eligibility& eligibility) const {
    const size_t nodes = eligibility.graph().nodes.size(), count = delegates_.size();
    std::vector<double> times(nodes * count, kNever);
    std::vector<uint32_t> candidates;
    for (NodeId node = 0; node < nodes; ++node) {
      candidates.clear();
      for (uint32_t d = 0; d < count; ++d)
        if (delegates_[d]->proposer() == nullptr && eligibility.Of(d, node).supported()) candidates.push_back(d);
      const auto required =
          std::find_if(candidates.begin(), candidates.end(), [&](uint32_t d) { return eligibility.is_required(d); });
      if (required != candidates.end()) candidates = {*required};
      if (candidates.size() > 1 && !eligibility.cpu_fallback() && candidates.back() + 1 == count) candidates.pop_back();
      // The time of a node that has no choice matters to no decision, but is part of the reasons.
      for (const uint32_t d : candidates) times[node * count + d] = model_.NodeNs(d, node);
    }
    return times;
  }

  // As by priority.
  std::vector<uint32_t> FirstOwners() const {
    std::vector<uint32_t> owners(problem_.graph.nodes.size(), static_cast<uint32_t>(CpuOf(delegates_)));
    for (NodeId node = 0; node < owners.size(); ++node)
      for (uint32_t d = 0; d < delegates_.size(); ++d) {
        if (problem_.ns(node, d) == kNever) continue;
        owners[node] = d;
        break;
      }
    return owners;
  }

  std::string ClockText(size_t delegate) const {
    const uint64_t hz = model_.clock_hz(delegate);
    return hz == 0 ? "" : fmt::format(" at {} MHz", hz / 1'000'000);
  }

  const std::shared_ptr<const CostTable> table_;
  const Delegates delegates_;
  const MeasuredCosts model_;
  const OwnerProblem problem_;
  OwnerCosts costs_;
};

}  // namespace

Ranking CostPolicy::Rank(Eligibility& eligibility) const {
  auto ranking = std::make_shared<const CostRanking>(eligibility, table_);
  Ranking result;
  result.ranks = ranking->Ranks();
  result.reasons = std::move(ranking);
  return result;
}

}  // namespace deputy::host
