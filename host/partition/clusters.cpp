#include "partition/clusters.hpp"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/strong_components.hpp>
#include <functional>
#include <map>
#include <numeric>
#include <queue>
#include <utility>

namespace deputy::host {
namespace {

void SortUnique(std::vector<uint32_t>& list) {
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

// Disjoint sets with path halving.
class UnionFind {
 public:
  explicit UnionFind(size_t size) : parent_(size) { std::iota(parent_.begin(), parent_.end(), 0u); }
  uint32_t Find(uint32_t x) {
    while (parent_[x] != x) x = parent_[x] = parent_[parent_[x]];
    return x;
  }
  void Join(uint32_t a, uint32_t b) {
    a = Find(a);
    b = Find(b);
    if (a != b) parent_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<uint32_t> parent_;
};

// Moves connected components of one color and stage to the latest stage of that color that all outside readers allow.
void Postpone(const Successors& groups, const ClusterInput& input, std::vector<uint32_t>& stage) {
  UnionFind pieces(groups.size());
  std::map<uint32_t, std::vector<uint32_t>> stages_of_color;
  for (uint32_t group = 0; group < groups.size(); ++group) {
    if (!input.alone[group]) stages_of_color[input.color[group]].push_back(stage[group]);
    for (const uint32_t next : groups[group])
      if (!input.alone[group] && !input.alone[next] && input.color[group] == input.color[next] &&
          stage[group] == stage[next])
        pieces.Join(group, next);
  }
  for (auto& [color, stages] : stages_of_color) SortUnique(stages);
  const CompressedLists members(groups.size(), [&](const auto& add) {
    for (uint32_t group = 0; group < groups.size(); ++group)
      if (!input.alone[group]) add(pieces.Find(group), group);
  });
  std::vector<uint32_t> by_stage;
  for (uint32_t group = 0; group < groups.size(); ++group)
    if (!members[group].empty()) by_stage.push_back(group);
  // Latest first: a component that moves makes room for the components before it.
  std::stable_sort(by_stage.begin(), by_stage.end(), [&](uint32_t a, uint32_t b) { return stage[a] > stage[b]; });
  for (const uint32_t piece : by_stage) {
    const uint32_t color = input.color[piece];
    uint32_t latest = UINT32_MAX;
    for (const uint32_t group : members[piece])
      for (const uint32_t next : groups[group]) {
        if (pieces.Find(next) == piece && !input.alone[next]) continue;
        latest = std::min(latest, input.color[next] == color && !input.alone[next] ? stage[next] : stage[next] - 1);
      }
    const std::vector<uint32_t>& stages = stages_of_color[color];
    const auto after = std::upper_bound(stages.begin(), stages.end(), latest);
    if (after == stages.begin()) continue;
    const uint32_t target = *(after - 1);
    if (target <= stage[piece]) continue;
    for (const uint32_t group : members[piece]) stage[group] = target;
  }
}

// Joins pairs of partitions of one color that staging kept apart, if no path through a third partition connects them.
// Each pair costs a walk over the quotient graph, so the work is bounded: large graphs with very many partitions keep
// the result of staging.
class PairMerger {
 public:
  PairMerger(Successors quotient, std::vector<uint32_t> color, std::vector<uint8_t> alone)
      : successors_(std::move(quotient)),
        color_(std::move(color)),
        alone_(std::move(alone)),
        sets_(color_.size()),
        next_merged_(color_.size()) {
    std::iota(next_merged_.begin(), next_merged_.end(), 0u);
  }

  // Per partition, the partition that it was merged into.
  std::vector<uint32_t> Run() {
    std::map<uint32_t, std::vector<uint32_t>> by_color;  // lower colors have priority
    for (uint32_t p = 0; p < color_.size(); ++p)
      if (!alone_[p]) by_color[color_[p]].push_back(p);
    for (const auto& [color, members] : by_color)
      for (size_t i = 0; i < members.size(); ++i)
        for (size_t j = i + 1; j < members.size(); ++j) {
          const uint32_t a = sets_.Find(members[i]), b = sets_.Find(members[j]);
          if (a == b) continue;
          if (Between(a, b) || Between(b, a) || budget_ == 0) {
            if (budget_ == 0) return Result();
            continue;
          }
          sets_.Join(a, b);
          std::swap(next_merged_[a], next_merged_[b]);
        }
    return Result();
  }

 private:
  // Is there a path from `from` to `to` through a third partition?
  bool Between(uint32_t from, uint32_t to) {
    std::vector<uint8_t> seen(color_.size(), 0);
    std::vector<uint32_t> stack;
    const auto visit = [&](uint32_t partition, bool direct) {
      uint32_t merged = partition;
      do {
        for (const uint32_t raw : successors_[merged]) {
          if (budget_ == 0) return false;
          --budget_;
          const uint32_t next = sets_.Find(raw);
          if (next == to && !direct) return true;
          if (next == to || next == from || seen[next]) continue;
          seen[next] = 1;
          stack.push_back(next);
        }
        merged = next_merged_[merged];
      } while (merged != partition);
      return false;
    };
    budget_ -= std::min<uint64_t>(budget_, color_.size() / 16);  // for clearing `seen`
    visit(from, /*direct=*/true);
    while (!stack.empty()) {
      const uint32_t partition = stack.back();
      stack.pop_back();
      if (visit(partition, /*direct=*/false)) return true;
    }
    return false;
  }

  std::vector<uint32_t> Result() {
    std::vector<uint32_t> result(color_.size());
    for (uint32_t p = 0; p < result.size(); ++p) result[p] = sets_.Find(p);
    return result;
  }

  Successors successors_;
  std::vector<uint32_t> color_;
  std::vector<uint8_t> alone_;
  UnionFind sets_;
  std::vector<uint32_t> next_merged_;  // rings of the partitions merged into one
  uint64_t budget_ = 4'000'000;
};

}  // namespace

Successors NodeSuccessors(const Graph& graph) {
  const std::vector<NodeId> producers = graph.Producers();
  Successors successors(graph.nodes.size(), [&](const auto& add) {
    for (NodeId node = 0; node < graph.nodes.size(); ++node)
      graph.nodes[node].ForEachRead([&](ValueId id) {
        if (producers[id] != kNone) add(producers[id], node);
      });
  });
  successors.SortUnique();
  return successors;
}

Successors Contract(const Successors& successors, std::span<const uint32_t> group_of, size_t group_count) {
  Successors contracted(group_count, [&](const auto& add) {
    for (uint32_t node = 0; node < successors.size(); ++node)
      for (const uint32_t next : successors[node])
        if (group_of[node] != group_of[next]) add(group_of[node], group_of[next]);
  });
  contracted.SortUnique();
  return contracted;
}

std::vector<uint32_t> TopologicalOrder(const Successors& successors, std::span<const uint8_t> preferred) {
  std::vector<uint32_t> waiting(successors.size(), 0);
  for (uint32_t group = 0; group < successors.size(); ++group)
    for (const uint32_t next : successors[group]) ++waiting[next];
  using Ready = std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>>;
  Ready first, second;
  const auto make_ready = [&](uint32_t group) { (preferred[group] ? first : second).push(group); };
  for (uint32_t group = 0; group < successors.size(); ++group)
    if (waiting[group] == 0) make_ready(group);
  std::vector<uint32_t> order;
  order.reserve(successors.size());
  // Stays with one kind until none of it is ready, in both directions: frequent changes would cut the runs.
  bool in_first = true;
  while (!first.empty() || !second.empty()) {
    if ((in_first ? first : second).empty()) in_first = !in_first;
    Ready& from = in_first ? first : second;
    const uint32_t group = from.top();
    from.pop();
    order.push_back(group);
    for (const uint32_t next : successors[group])
      if (--waiting[next] == 0) make_ready(next);
  }
  if (order.size() != successors.size()) order.clear();
  return order;
}

std::vector<std::vector<uint32_t>> Cycles(const Successors& successors) {
  boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS> graph(successors.size());
  for (uint32_t group = 0; group < successors.size(); ++group)
    for (const uint32_t next : successors[group]) boost::add_edge(group, next, graph);
  std::vector<uint32_t> piece_of(successors.size());
  const auto index = boost::get(boost::vertex_index, graph);
  const uint32_t count = boost::strong_components(graph, boost::make_iterator_property_map(piece_of.begin(), index));
  std::vector<std::vector<uint32_t>> pieces(count);
  for (uint32_t group = 0; group < successors.size(); ++group) pieces[piece_of[group]].push_back(group);
  pieces.erase(std::remove_if(pieces.begin(), pieces.end(), [](const auto& piece) { return piece.size() < 2; }),
               pieces.end());
  return pieces;
}

std::vector<uint32_t> Cluster(const Successors& successors, const ClusterInput& input) {
  const Successors groups = Contract(successors, input.group_of, input.group_count);
  const std::vector<uint8_t> no_preference(groups.size(), 0);
  std::vector<uint32_t> stage(groups.size(), 0);
  for (const uint32_t group : TopologicalOrder(groups, no_preference))
    for (const uint32_t next : groups[group]) {
      // Atomic groups that stay alone need no stage of their own among their kind; claims do, since they may share a
      // color.
      const bool same = input.color[group] == input.color[next];
      stage[next] = std::max(stage[next], stage[group] + (same ? 0 : 1));
    }
  Postpone(groups, input, stage);

  std::map<std::pair<uint32_t, uint32_t>, uint32_t> number_of;
  std::vector<uint32_t> partition(groups.size()), color;
  std::vector<uint8_t> alone;
  for (uint32_t group = 0; group < groups.size(); ++group) {
    const uint32_t next = static_cast<uint32_t>(color.size());
    const std::pair<uint32_t, uint32_t> key{input.color[group], stage[group]};
    partition[group] = input.alone[group] ? next : number_of.try_emplace(key, next).first->second;
    if (partition[group] != next) continue;
    color.push_back(input.color[group]);
    alone.push_back(input.alone[group]);
  }
  Successors quotient = Contract(groups, partition, color.size());
  const std::vector<uint32_t> merged = PairMerger(std::move(quotient), std::move(color), std::move(alone)).Run();
  std::vector<uint32_t> dense(merged.size(), UINT32_MAX);
  uint32_t count = 0;
  for (uint32_t& number : partition) {
    uint32_t& target = dense[merged[number]];
    if (target == UINT32_MAX) target = count++;
    number = target;
  }
  return partition;
}

}  // namespace deputy::host
