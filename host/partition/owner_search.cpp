#include "partition/owner_search.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "partition/minimum_cut.hpp"

namespace deputy::host {
namespace {

// In every round each delegate takes nodes once; most graphs need two. The last moves of a large graph gain a
// ten-thousandth, for as much time as the first.
constexpr int kMostRounds = 8;
constexpr double kLeastGain = 1e-3;

// A node that more than one delegate may own is free. Free nodes that a value connects are a component; components do
// not influence each other, and one cut decides all of them.
class OwnerSearch {
 public:
  OwnerSearch(const OwnerProblem& problem, OwnerCosts& costs)
      : problem_(problem),
        costs_(costs),
        choice_of_(problem.graph.nodes.size(), kNone),
        added_(problem.graph.values.size(), 0) {
    const size_t nodes = problem.graph.nodes.size();
    for (NodeId node = 0; node < nodes; ++node) {
      uint32_t candidates = 0;
      for (uint32_t d = 0; d < problem.delegates; ++d) candidates += problem.ns(node, d) != kNever;
      if (candidates > 1) free_.push_back(node);
    }
    FindRivals();
    SetUnit();
  }

  void Run() {
    if (free_.empty()) return;
    CutPairs();
    Expand();
    Descend();
  }

 private:
  // The delegates that compete for the nodes of a component.
  struct Rivals {
    uint32_t first = kNone, second = kNone;  // the first one is earlier in order
    bool more = false;

    void Add(uint32_t delegate) {
      if (delegate == first || delegate == second) return;
      if (second != kNone) more = true;
      (first == kNone ? first : second) = delegate;
      if (!more && second != kNone && second < first) std::swap(first, second);
    }
  };

  // The owner of a node on each side of a cut.
  struct Choice {
    NodeId node;
    uint32_t source, sink;
  };

  void FindRivals() {
    std::vector<NodeId> component(problem_.graph.nodes.size(), kNone);
    for (const NodeId node : free_) component[node] = node;
    const auto find = [&](NodeId node) {
      while (component[node] != node) node = component[node] = component[component[node]];
      return node;
    };
    for (ValueId value = 0; value < problem_.graph.values.size(); ++value) {
      NodeId first = kNone;
      const auto join = [&](NodeId node) {
        if (node == kNone || component[node] == kNone) return;
        if (first == kNone) first = node;
        const NodeId a = find(first), b = find(node);
        component[std::max(a, b)] = std::min(a, b);
      };
      join(costs_.producer(value));
      for (const NodeId reader : costs_.readers()[value]) join(reader);
    }
    std::vector<Rivals> rivals(problem_.graph.nodes.size());
    for (const NodeId node : free_)
      for (uint32_t d = 0; d < problem_.delegates; ++d)
        if (problem_.ns(node, d) != kNever) rivals[find(node)].Add(d);
    rivals_.reserve(free_.size());
    for (const NodeId node : free_) rivals_.push_back(rivals[find(node)]);
  }

  // Costs are whole numbers of a unit so small that rounding does not matter, and so large that their sum fits.
  void SetUnit() {
    double sum = 1;
    for (const NodeId node : free_) {
      double highest = 0;
      for (uint32_t d = 0; d < problem_.delegates; ++d)
        if (problem_.ns(node, d) != kNever) highest = std::max(highest, problem_.ns(node, d));
      sum += highest;
    }
    for (ValueId value = 0; value < problem_.graph.values.size(); ++value) {
      if (costs_.readers()[value].empty() && !costs_.is_output(value)) continue;
      for (size_t from = 0; from < problem_.delegates; ++from)
        for (size_t to = 0; to < problem_.delegates; ++to) sum += costs_.TransferNs(from, to, value);
    }
    units_per_ns_ = std::min(1024.0, std::ldexp(1.0, 58) / sum);
  }
  int64_t Units(double ns) const { return std::llround(ns * units_per_ns_); }

  // The optimum of all components with two rivals, at once.
  void CutPairs() {
    std::vector<Choice> choices;
    for (size_t i = 0; i < free_.size(); ++i)
      if (!rivals_[i].more) choices.push_back({free_[i], rivals_[i].second, rivals_[i].first});
    Cut(choices);
  }

  void Expand() {
    std::vector<double> total_after(problem_.delegates, kNever);  // the last move of each delegate
    double total = costs_.TotalNs();
    for (int round = 0; round < kMostRounds; ++round)
      for (uint32_t to = 0; to < problem_.delegates; ++to) {
        // A move can help only where other delegates have gained something since the last one.
        if (total_after[to] - total <= kLeastGain * total) continue;
        std::vector<Choice> choices;
        for (size_t i = 0; i < free_.size(); ++i) {
          const uint32_t owner = costs_.owner(free_[i]);
          if (rivals_[i].more && owner != to && MayGain(free_[i], owner, to)) choices.push_back({free_[i], to, owner});
        }
        if (Cut(choices)) total = costs_.TotalNs();
        total_after[to] = total;
      }
  }

  // False where the node is not cheaper on `to` even if all its transfers ended there: it needs no choice.
  bool MayGain(NodeId node, uint32_t owner, uint32_t to) const {
    double gain = problem_.ns(node, owner) - problem_.ns(node, to);
    if (gain == -kNever) return false;
    for (const ValueId value : costs_.reads()[node]) {
      const uint32_t from = costs_.OwnerOf(value);
      gain += std::max(costs_.TransferNs(from, owner, value), costs_.TransferNs(to, owner, value));
    }
    for (const ValueId value : problem_.graph.nodes[node].outputs) {
      if (value == kNone || (costs_.readers()[value].empty() && !costs_.is_output(value))) continue;
      for (uint32_t reader = 0; reader < problem_.delegates; ++reader) gain += costs_.TransferNs(owner, reader, value);
    }
    return gain > 0;
  }

  // Single nodes that are cheaper elsewhere: expansion moves overestimate some transfers of values with many readers.
  void Descend() {
    for (int round = 0; round < kMostRounds; ++round) {
      bool changed = false;
      for (const NodeId node : free_) {
        uint32_t best = costs_.owner(node);
        double best_ns = costs_.MarginalNs(node, best);
        for (uint32_t d = 0; d < problem_.delegates; ++d) {
          if (d == costs_.owner(node) || problem_.ns(node, d) == kNever) continue;
          const double ns = costs_.MarginalNs(node, d);
          if (ns * (1 + 1e-9) < best_ns) best_ns = ns, best = d;
        }
        if (best == costs_.owner(node)) continue;
        costs_.Move(node, best);
        changed = true;
      }
      if (!changed) return;
    }
  }

  // Decides all choices at once; true when an owner has changed.
  bool Cut(const std::vector<Choice>& choices) {
    if (choices.empty()) return false;
    MinimumCut cut(choices.size());
    for (uint32_t i = 0; i < choices.size(); ++i) {
      choice_of_[choices[i].node] = i;
      cut.Pay(Units(problem_.ns(choices[i].node, choices[i].source)), i, Side::kSource);
      cut.Pay(Units(problem_.ns(choices[i].node, choices[i].sink)), i, Side::kSink);
    }
    ++cuts_;
    const auto add = [&](ValueId value) {
      if (value == kNone || added_[value] == cuts_) return;
      added_[value] = cuts_;
      AddTransfers(cut, choices, value);
    };
    for (const Choice& choice : choices) {
      for (const ValueId value : problem_.graph.nodes[choice.node].outputs) add(value);
      for (const ValueId value : costs_.reads()[choice.node]) add(value);
    }
    const std::vector<Side> sides = cut.Solve();
    bool changed = false;
    for (uint32_t i = 0; i < choices.size(); ++i) {
      const Choice& choice = choices[i];
      choice_of_[choice.node] = kNone;
      const uint32_t owner = sides[i] == Side::kSource ? choice.source : choice.sink;
      if (owner == costs_.owner(choice.node)) continue;
      costs_.Move(choice.node, owner);
      changed = true;
    }
    return changed;
  }

  // What the value costs: its transfer from the owner of its producer to each other owner among its readers.
  void AddTransfers(MinimumCut& cut, const std::vector<Choice>& choices, ValueId value) {
    const uint32_t host = problem_.cpu();
    const NodeId producer = costs_.producer(value);
    const uint32_t choice = producer == kNone ? kNone : choice_of_[producer];
    const uint32_t fixed = producer == kNone ? host : costs_.owner(producer);
    const uint32_t from_source = choice == kNone ? fixed : choices[choice].source;
    const uint32_t from_sink = choice == kNone ? fixed : choices[choice].sink;
    const auto cost = [&](uint32_t from, uint32_t to) { return Units(costs_.TransferNs(from, to, value)); };
    const std::span<const uint32_t> readers = costs_.readers()[value];
    if (readers.size() == 1 && !costs_.is_output(value) && choice != kNone && choice_of_[readers[0]] != kNone) {
      const uint32_t reader = choice_of_[readers[0]];
      const Choice& to = choices[reader];
      if (AddPair(cut, choice, reader, cost(from_source, to.source), cost(from_source, to.sink),
                  cost(from_sink, to.source), cost(from_sink, to.sink)))
        return;
    }
    for (uint32_t to = 0; to < problem_.delegates; ++to) {
      bool always = to == host && costs_.is_output(value);
      at_source_.clear();
      at_sink_.clear();
      for (const NodeId reader : readers) {
        const uint32_t at = choice_of_[reader];
        if (at == kNone) {
          always = always || costs_.owner(reader) == to;
        } else if (choices[at].source == to) {
          at_source_.push_back(at);
        } else if (choices[at].sink == to) {
          at_sink_.push_back(at);
        }
      }
      const int64_t source = cost(from_source, to), sink = cost(from_sink, to);
      if (always) {
        if (choice == kNone) continue;  // the same on both sides
        cut.Pay(source, choice, Side::kSource);
        cut.Pay(sink, choice, Side::kSink);
        continue;
      }
      // A cut cannot express a cost that is paid only where the producer and a reader are on one side. It is charged
      // wherever the reader is: an expansion then finds less, and is right about what it finds.
      if (!at_source_.empty()) {
        cut.PayForAny(source, at_source_, Side::kSource);
        if (sink > source) cut.PayAcross(sink - source, choice, at_source_, Side::kSource);
      }
      if (!at_sink_.empty()) {
        cut.PayForAny(sink, at_sink_, Side::kSink);
        if (source > sink) cut.PayAcross(source - sink, choice, at_sink_, Side::kSink);
      }
    }
  }

  // The costs of two choices, by their sides: `source_sink` where `a` is at the source and `b` at the sink. False where
  // a cut cannot express them.
  static bool AddPair(MinimumCut& cut, uint32_t a, uint32_t b, int64_t source_source, int64_t source_sink,
                      int64_t sink_source, int64_t sink_sink) {
    const int64_t across = sink_source + source_sink - sink_sink - source_source;
    if (across < 0) return false;
    const auto pay = [&](int64_t cost, uint32_t choice) {
      cut.Pay(std::abs(cost), choice, cost > 0 ? Side::kSource : Side::kSink);
    };
    pay(source_sink - sink_sink, a);
    pay(source_source - source_sink, b);
    cut.PayAcross(across, a, {&b, 1}, Side::kSource);
    return true;
  }

  const OwnerProblem& problem_;
  OwnerCosts& costs_;
  std::vector<NodeId> free_;         // nodes that more than one delegate may own
  std::vector<Rivals> rivals_;       // of the component of each of them
  std::vector<uint32_t> choice_of_;  // per node, during a cut
  std::vector<uint32_t> added_;      // per value: the last cut that it was added to
  uint32_t cuts_ = 0;
  std::vector<uint32_t> at_source_, at_sink_;
  double units_per_ns_ = 1;
};

}  // namespace

OwnerCosts::OwnerCosts(const OwnerProblem& problem, std::vector<uint32_t> owners)
    : problem_(problem),
      owners_(std::move(owners)),
      producers_(problem.graph.Producers()),
      is_output_(problem.graph.values.size(), 0),
      readers_on_(problem.graph.values.size() * problem.delegates, 0) {
  const Graph& graph = problem.graph;
  const auto for_each_read = [&](const auto& fn) {
    for (NodeId node = 0; node < graph.nodes.size(); ++node) {
      if (IsLeftOut(node)) continue;
      graph.nodes[node].ForEachRead([&](ValueId id) {
        if (graph.values[id].is_constant() || (producers_[id] != kNone && IsLeftOut(producers_[id]))) return;
        fn(node, id);
      });
    }
  };
  reads_ = CompressedLists(graph.nodes.size(), for_each_read);
  reads_.SortUnique();
  readers_ = CompressedLists(graph.values.size(),
                             [&](const auto& add) { for_each_read([&](NodeId node, ValueId id) { add(id, node); }); });
  readers_.SortUnique();
  for (const ValueId id : graph.outputs)
    if (producers_[id] != kNone && !IsLeftOut(producers_[id])) is_output_[id] = 1;
  for (ValueId id = 0; id < graph.values.size(); ++id) {
    for (const NodeId reader : readers_[id]) ++count(id, owners_[reader]);
    if (is_output_[id]) ++count(id, problem.cpu());
  }
}

bool OwnerCosts::IsLeftOut(NodeId node) const {
  for (size_t d = 0; d < problem_.delegates; ++d)
    if (problem_.ns(node, d) != kNever) return false;
  return true;
}

uint32_t OwnerCosts::OwnerOf(ValueId value) const {
  return producers_[value] == kNone ? problem_.cpu() : owners_[producers_[value]];
}

double OwnerCosts::TotalNs() const {
  double sum = 0;
  for (NodeId node = 0; node < owners_.size(); ++node)
    if (!IsLeftOut(node)) sum += problem_.ns(node, owners_[node]);
  for (ValueId value = 0; value < producers_.size(); ++value)
    for (uint32_t to = 0; to < problem_.delegates; ++to)
      if (count(value, to) != 0) sum += TransferNs(OwnerOf(value), to, value);
  return sum;
}

double OwnerCosts::MarginalNs(NodeId node, uint32_t delegate) const {
  double sum = problem_.ns(node, delegate);
  for (const ValueId value : reads_[node]) {
    const bool others = count(value, delegate) > (owners_[node] == delegate ? 1u : 0u);
    if (!others) sum += TransferNs(OwnerOf(value), delegate, value);
  }
  for (const ValueId value : problem_.graph.nodes[node].outputs) {
    if (value == kNone) continue;
    for (uint32_t to = 0; to < problem_.delegates; ++to)
      if (count(value, to) != 0) sum += TransferNs(delegate, to, value);
  }
  return sum;
}

void OwnerCosts::Move(NodeId node, uint32_t to) {
  for (const ValueId value : reads_[node]) {
    --count(value, owners_[node]);
    ++count(value, to);
  }
  owners_[node] = to;
}

void FindCheapestOwners(const OwnerProblem& problem, OwnerCosts& costs) { OwnerSearch(problem, costs).Run(); }

}  // namespace deputy::host
