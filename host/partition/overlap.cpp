#include "partition/overlap.hpp"

#include <algorithm>

#include "graph/graph.hpp"
#include "partition/clusters.hpp"
#include "tensor/shape.hpp"

namespace deputy::host {
namespace {

// To begin a node takes as long as so many operations, at least.
constexpr uint64_t kWorkOfNode = 1000;

uint64_t ElementsOf(const ValueType& type) {
  return type.is_static() ? static_cast<uint64_t>(ElementCount(type.dims)) : 0;
}

}  // namespace

uint64_t OperationsOf(const Graph& graph, const Node& node) {
  uint64_t work = kWorkOfNode + MultiplyAdds(graph, node);
  for (const ValueId output : node.outputs)
    if (output != kNone) work += ElementsOf(graph.values[output].type);
  return work;
}

OverlapCuts::OverlapCuts(const Graph& graph, Delegates delegates, const Assignment& assignment)
    : graph_(graph), assignment_(assignment) {
  const AtomicGroups& groups = assignment.groups();
  std::vector<uint8_t> overlaps;
  for (const HostedDelegate& delegate : delegates) overlaps.push_back(delegate->traits().overlaps);
  std::vector<uint32_t> owner(groups.count(), 0);
  bool any = false;
  for (NodeId node = 0; node < graph.nodes.size(); ++node) {
    owner[groups.of(node)] = static_cast<uint32_t>(assignment.owner(node));
    any = any || overlaps[assignment.owner(node)] != 0;
  }
  if (!any || groups.count() > kMostGroups) return;

  const Successors successors = Contract(assignment.successors(), groups.of(), groups.count());
  work_.resize(groups.count(), 0);
  before_.resize(groups.count(), 0);
  after_.resize(groups.count(), 0);
  for (NodeId node = 0; node < graph.nodes.size(); ++node)
    work_[groups.of(node)] += OperationsOf(graph, graph.nodes[node]);
  producers_ = graph.Producers();

  const size_t words = (groups.count() + 63) / 64;  // of 64 bits, per group
  std::vector<uint64_t> ancestors(groups.count() * words, 0);
  for (const uint32_t group : TopologicalOrder(successors, std::vector<uint8_t>(groups.count(), 0))) {
    const uint64_t* const row = ancestors.data() + group * words;
    for (size_t word = 0; word < words; ++word)
      for (uint64_t bits = row[word]; bits != 0; bits &= bits - 1) {
        const size_t ancestor = word * 64 + static_cast<size_t>(__builtin_ctzll(bits));
        if (owner[ancestor] == owner[group] || (!overlaps[owner[ancestor]] && !overlaps[owner[group]])) continue;
        before_[group] += work_[ancestor];
        after_[ancestor] += work_[group];
      }
    for (const uint32_t next : successors[group]) {
      uint64_t* const to = ancestors.data() + next * words;
      for (size_t word = 0; word < words; ++word) to[word] |= row[word];
      to[group / 64] |= uint64_t{1} << (group % 64);
    }
  }
}

// What precedes a group precedes all groups that wait for it, and what follows it follows all for which it waits: so
// the groups with more work before them than any bound are closed under successors, those with more after them under
// predecessors, and either is one side of a cut that leaves the partitions without cycles.
std::vector<NodeId> OverlapCuts::LaterPart(std::span<const NodeId> cluster) {
  if (work_.empty() || cluster.size() < 2) return {};
  const AtomicGroups& groups = assignment_.groups();
  std::vector<uint32_t> members;
  for (const NodeId node : cluster) members.push_back(groups.of(node));
  std::sort(members.begin(), members.end());
  members.erase(std::unique(members.begin(), members.end()), members.end());

  uint64_t best = kLeastOverlap - 1;
  std::vector<NodeId> later;
  std::vector<uint8_t> is_later(cluster.size());
  for (const std::vector<uint64_t>* const around : {&before_, &after_}) {
    const bool waits = around == &before_;
    std::sort(members.begin(), members.end(), [&](uint32_t a, uint32_t b) { return (*around)[a] < (*around)[b]; });
    uint64_t free = 0;  // work of the groups that do not take part in the wait
    for (size_t i = 0; i + 1 < members.size(); ++i) {
      free += work_[members[i]];
      const uint64_t bound = (*around)[members[i]], gain = std::min(free, (*around)[members[i + 1]] - bound);
      if (gain <= best) continue;
      if (budget_ < cluster.size()) return later;
      budget_ -= cluster.size();
      for (size_t n = 0; n < cluster.size(); ++n) is_later[n] = ((*around)[groups.of(cluster[n])] > bound) == waits;
      const uint64_t between = Between(cluster, is_later);
      if (gain <= best + between) continue;
      best = gain - between;
      later.clear();
      for (size_t n = 0; n < cluster.size(); ++n)
        if (is_later[n]) later.push_back(cluster[n]);
    }
  }
  return later;
}

// Elements of values that nodes of the later part read from others of the cluster.
uint64_t OverlapCuts::Between(std::span<const NodeId> cluster, const std::vector<uint8_t>& is_later) const {
  std::vector<ValueId> values;
  for (size_t n = 0; n < cluster.size(); ++n) {
    if (!is_later[n]) continue;
    graph_.nodes[cluster[n]].ForEachRead([&](ValueId id) {
      if (producers_[id] == kNone) return;
      const auto producer = std::lower_bound(cluster.begin(), cluster.end(), producers_[id]);
      if (producer == cluster.end() || *producer != producers_[id]) return;
      if (!is_later[static_cast<size_t>(producer - cluster.begin())]) values.push_back(id);
    });
  }
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  uint64_t elements = 0;
  for (const ValueId id : values) elements += ElementsOf(graph_.values[id].type);
  return elements;
}

}  // namespace deputy::host
