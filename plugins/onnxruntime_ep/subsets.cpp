#include "subsets.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

namespace ort_ep {
namespace {

constexpr size_t kNoSubset = SIZE_MAX;

// Merging compares each two neighbours by a search of the graph; larger graphs keep the first subsets.
constexpr size_t kMostSearched = 20'000'000;

class Subsets {
 public:
  Subsets(const Readers& readers, const std::vector<bool>& is_taken)
      : readers_(readers), is_taken_(is_taken), subset_of_(readers.size(), kNoSubset) {}

  std::vector<std::vector<size_t>> Find() {
    Begin();
    while (MergeTwo()) continue;
    std::vector<std::vector<size_t>> found(members_.size());
    for (size_t node = 0; node < readers_.size(); ++node)
      if (subset_of_[node] != kNoSubset) found[subset_of_[node]].push_back(node);
    std::erase_if(found, [](const std::vector<size_t>& one) { return one.empty(); });
    std::sort(found.begin(), found.end());
    return found;
  }

 private:
  size_t Root(size_t node) {
    while (parent_[node] != node) node = parent_[node] = parent_[parent_[node]];
    return node;
  }

  // A node's level is the largest number of changes from other nodes to taken ones on a path to it. Neighbours of one
  // level form subsets: a path that left one would come back at a higher level.
  void Begin() {
    std::vector<size_t> level(readers_.size(), 0);
    parent_.resize(readers_.size());
    std::iota(parent_.begin(), parent_.end(), size_t{0});
    for (size_t node = 0; node < readers_.size(); ++node)
      for (const size_t reader : readers_[node])
        level[reader] = std::max(level[reader], level[node] + (!is_taken_[node] && is_taken_[reader] ? 1 : 0));
    for (size_t node = 0; node < readers_.size(); ++node)
      for (const size_t reader : readers_[node])
        if (is_taken_[node] && is_taken_[reader] && level[node] == level[reader]) parent_[Root(reader)] = Root(node);
    for (size_t node = 0; node < readers_.size(); ++node) {
      if (!is_taken_[node]) continue;
      const size_t root = Root(node);
      if (subset_of_[root] == kNoSubset) {
        subset_of_[root] = members_.size();
        members_.emplace_back();
      }
      subset_of_[node] = subset_of_[root];
      members_[subset_of_[node]].push_back(node);
    }
  }

  // Merges a subset with one that reads it, if all paths from the one to the other are direct.
  bool MergeTwo() {
    for (size_t node = 0; node < readers_.size(); ++node) {
      if (subset_of_[node] == kNoSubset) continue;
      for (const size_t reader : readers_[node]) {
        const size_t from = subset_of_[node], to = subset_of_[reader];
        if (to == kNoSubset || to == from || IsReachedAround(from, to)) continue;
        for (const size_t member : members_[to]) subset_of_[member] = from;
        members_[from].insert(members_[from].end(), members_[to].begin(), members_[to].end());
        members_[to].clear();
        return true;
      }
    }
    return false;
  }

  // Whether a path from `from` to `to` leads through something else, in the graph with contracted subsets.
  bool IsReachedAround(size_t from, size_t to) {
    std::vector<bool> seen(readers_.size(), false);
    std::vector<size_t> open;
    const auto visit = [&](size_t node) {
      const size_t subset = subset_of_[node];
      if (seen[node] || subset == from) return;
      if (subset == kNoSubset) {
        seen[node] = true;
        open.push_back(node);
        return;
      }
      for (const size_t member : members_[subset]) {
        seen[member] = true;
        open.push_back(member);
      }
    };
    for (const size_t member : members_[from])
      for (const size_t reader : readers_[member])
        if (subset_of_[reader] != to) visit(reader);
    while (!open.empty()) {
      const size_t node = open.back();
      open.pop_back();
      if (++searched_ > kMostSearched) return true;
      for (const size_t reader : readers_[node]) {
        if (subset_of_[reader] == to) return true;
        visit(reader);
      }
    }
    return false;
  }

  const Readers& readers_;
  const std::vector<bool>& is_taken_;
  std::vector<size_t> parent_, subset_of_;
  std::vector<std::vector<size_t>> members_;
  size_t searched_ = 0;
};

}  // namespace

std::vector<std::vector<size_t>> ConvexSubsets(const Readers& readers, const std::vector<bool>& is_taken) {
  return Subsets(readers, is_taken).Find();
}

}  // namespace ort_ep
