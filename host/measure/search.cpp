#include "measure/search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/log.hpp"
#include "base/machine_load.hpp"
#include "base/plural.hpp"
#include "graph/graph.hpp"
#include "measure/candidate.hpp"

namespace deputy::host {
namespace {

// Of one turn of a candidate, whose runs are in a row.
constexpr uint64_t kTurnNs = 8'000'000;
// The first runs after those of another candidate are slower: threads of its library spin, or the kernel has moved the
// threads of this one to a processor together, from which it moves them back after some 10 ms. A turn begins with the
// first run that takes at most so many times what runs of this candidate have taken, or after this time.
constexpr double kWarm = 1.15;
constexpr uint64_t kWarmUpNs = 30'000'000;
constexpr size_t kMostRuns = 400;
// Turns of each candidate: more where they are short, because a disturbance may take longer than one of them.
constexpr uint64_t kLeastRounds = kTurnsOfGain, kMostRounds = 10;
// Where two of the first candidates are this close, or the last two, the machine varies more: they get more turns, in
// at most a third of the budget.
constexpr double kClose = 0.1;
constexpr uint64_t kMostRoundsOfClose = 30;
// A candidate whose fastest turn takes as many times that of the best one is dropped: after its first turns, which a
// disturbance of the machine may have slowed down, and after later ones.
constexpr double kHopelessAtFirst = 5, kHopeless = 1.25;
constexpr size_t kMostPartitions = 12, kMostOperators = 8;

std::string TimeText(uint64_t ns) {
  if (ns < 1'000'000) return fmt::format("{:.3g} us", static_cast<double>(ns) / 1e3);
  return fmt::format("{:.3g} ms", static_cast<double>(ns) / 1e6);
}

uint64_t Median(std::vector<uint64_t> times) {
  const auto middle = times.begin() + static_cast<ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

}  // namespace

class PlacementSearch {
 public:
  PlacementSearch(const SearchSubject& subject, const Execution& sample, const SearchSettings& settings,
                  const CancellationToken& token)
      : subject_(subject), sample_(sample), settings_(settings), token_(token), start_(NowNs()) {}

  Result<SearchResult> Run() {
    SearchResult result;
    std::unique_ptr<Candidate> order = Make("as ordered", {});
    if (order == nullptr) return NotMeasured();
    std::vector<std::unique_ptr<Candidate>> first;
    Candidate* const by_order = order.get();
    first.push_back(std::move(order));
    AddWithout(first);
    Candidate* const cpu = first.size() > 1 ? first.back().get() : nullptr;
    Compare(first);
    if (token_.Due() || !by_order->measured()) return NotMeasured();
    // The fastest one, if it is faster than the order also when both are measured once more; else the order.
    auto fastest = std::min_element(first.begin(), first.end(), [](const auto& a, const auto& b) {
      return a->measured() && (!b->measured() || a->time() < b->time());
    });
    if (!Gains(**fastest, *by_order, settings_.margin) || !StaysFaster(**fastest, *by_order)) fastest = first.begin();
    result.order_ns = by_order->time();
    if (cpu != nullptr) result.cpu_ns = cpu->time();
    std::optional<Refused> mixed = EachWhereItIsFastest(*by_order, cpu);
    base_ = std::move(*fastest);
    best_ = base_.get();
    first.clear();
    if (mixed) Try("each partition where it is fastest", *std::move(mixed));
    TryParts();
    Confirm();
    if (token_.Due()) return token_.Check();
    result.best_ns = best_->time();
    if (base_->is_the_order()) result.order_ns = base_->time();
    others_ = settings_.share_of_others ? settings_.share_of_others() : load_.ShareOfOthers().value_or(0);
    // Of the best one: others may have been slowed down beside it.
    result.decision.disturbance = std::max(others_, best_->spread());
    const bool stays = !best_->is_the_order() && !IsSure(result);
    if (stays) result.best_ns = result.order_ns;
    result.candidates = tried_;
    result.complete = !ended_;
    result.costs = std::move(costs_);
    Describe(result, stays);
    return result;
  }

 private:
  using Refused = Candidate::Refused;

  Result<SearchResult> NotMeasured() const {
    if (token_.Due()) return token_.Check();
    SearchResult result;
    result.complete = false;
    result.decision.summary = "a few runs take longer than the budget, the order stays";
    return result;
  }

  uint64_t Used() const { return NowNs() - start_ - first_compile_ns_; }
  // Whether there is time for something that takes about this long.
  bool Allows(uint64_t ns) {
    if (best_ != nullptr && best_ != base_.get() && !confirming_) ns += ConfirmNs();
    const bool allowed = !token_.Due() && Used() + ns < settings_.budget_ns;
    ended_ = ended_ || !allowed;
    return allowed;
  }

  void Report(const std::string& candidate) const {
    if (settings_.progress)
      settings_.progress(candidate, static_cast<double>(Used()) / static_cast<double>(settings_.budget_ns));
  }

  // About the time that Confirm takes.
  uint64_t ConfirmNs() const {
    const uint64_t runs = std::min<uint64_t>(kTurnNs / std::max<uint64_t>(1, base_->time()) + 1, kMostRuns);
    return kWarmUpNs + 2 * RoundsFor(base_->time()) * (runs + (runs > 1 ? 1 : 0)) * base_->time();
  }

  // Compiled and run once, which verifies what is new in it. Null: it cannot be made, places every node as another
  // candidate does, or the budget is used.
  std::unique_ptr<Candidate> Make(const std::string& name, Refused refused) {
    const uint64_t expected = best_ == nullptr ? 0 : 2 * best_->time();
    if (!Allows(expected)) return nullptr;
    Report(name);
    const uint64_t begin = NowNs();
    auto candidate = std::make_unique<Candidate>(name, std::move(refused));
    PlacementOptions options = subject_.options;
    for (const auto& [delegate, numbers] : candidate->refused())
      ForEachNode(*subject_.graph, [&, d = delegate, &list = numbers](const Graph& graph, NodeId id, uint32_t number) {
        if (list.count(number) != 0) options.refused[{&graph, d, id}] = {Reason::kSlower, ""};
      });
    const Status status = candidate->Prepare(subject_, std::move(options), sample_);
    if (!status.ok()) {
      Log(LogLevel::kDebug, "placement '{}' is not possible: {}", name, status.ToString());
      return nullptr;
    }
    // The first candidates decide most of the time of later runs, and some delegates compile for longer than the
    // budget.
    if (best_ == nullptr)
      first_compile_ns_ = std::min(first_compile_ns_ + (NowNs() - begin), settings_.first_compile_ns);
    if (!placements_.insert(candidate->owners()).second) return nullptr;
    if (!candidate->Run(WithinBudget()).ok()) return nullptr;
    ++tried_;
    return candidate;
  }

  // A run ends with the budget at the latest.
  CancellationToken WithinBudget() const {
    return {start_ + first_compile_ns_ + settings_.budget_ns, token_.cancelled_ns, token_.hook};
  }

  // Runs the candidate until its runs take as long as in earlier turns; none: one of them failed.
  std::optional<uint64_t> WarmUp(Candidate& candidate) {
    const uint64_t begin = NowNs(), earlier = candidate.time();
    uint64_t time = 0, before = begin;
    for (size_t run = 0; run < kMostRuns; ++run) {
      if (!candidate.Run(WithinBudget()).ok()) return std::nullopt;
      const uint64_t after = NowNs();
      time = after - std::exchange(before, after);
      const bool is_warm = earlier != 0 && static_cast<double>(time) < kWarm * static_cast<double>(earlier);
      if (is_warm || time > kTurnNs || after - begin > kWarmUpNs || !Allows(time)) break;
    }
    return time;
  }

  void Turn(Candidate& candidate) {
    std::vector<uint64_t> times;
    bool is_long = candidate.time() > kTurnNs;
    if (!is_long) {
      const std::optional<uint64_t> last = WarmUp(candidate);
      if (!last) return;
      is_long = *last > kTurnNs;
    }
    // The end of the budget is checked before each step, which costs the time of a small node: short runs are without.
    const CancellationToken token = is_long ? WithinBudget() : CancellationToken{0, token_.cancelled_ns, token_.hook};
    const uint64_t begin = NowNs();
    for (size_t run = 0; run < kMostRuns; ++run) {
      const uint64_t before = NowNs();
      if (!candidate.Run(token).ok()) break;
      const uint64_t after = NowNs();
      times.push_back(after - before);
      if (after - begin > kTurnNs || !Allows(times.back())) break;
    }
    if (!times.empty()) candidate.AddTurn(Median(std::move(times)));
  }

  // For candidates whose runs take about this long.
  static uint64_t RoundsFor(uint64_t run_ns) {
    const uint64_t turn_ns = kMostRuns * std::clamp<uint64_t>(run_ns, 1, kTurnNs);
    return std::clamp(kLeastRounds * kTurnNs / turn_ns, kLeastRounds, kMostRounds);
  }

  bool HasRoundForClose(uint64_t round, uint64_t begin) const {
    return round < kMostRoundsOfClose && NowNs() - begin < settings_.budget_ns / 3;
  }

  static bool AreClose(const Candidate& a, const Candidate& b) { return std::abs(a.RatioTo(b) - 1) < kClose; }

  // Whether two of them are close to each other, and one is the fastest.
  static bool HasClose(const std::vector<std::unique_ptr<Candidate>>& candidates) {
    const Candidate* fastest = candidates.front().get();
    for (const auto& candidate : candidates)
      if (candidate->measured() && candidate->time() < fastest->time()) fastest = candidate.get();
    return fastest->measured() && std::any_of(candidates.begin(), candidates.end(), [&](const auto& candidate) {
             return candidate.get() != fastest && candidate->measured() && AreClose(*candidate, *fastest);
           });
  }

  // In turns, so that a disturbance of the machine affects all of them.
  void Compare(std::vector<std::unique_ptr<Candidate>>& candidates) {
    uint64_t best = UINT64_MAX;
    const uint64_t begin = NowNs();
    for (uint64_t round = 0;
         round == 0 || round < RoundsFor(best) || (HasRoundForClose(round, begin) && HasClose(candidates)); ++round) {
      for (const auto& candidate : candidates)
        if (round == 0 || (!IsHopeless(*candidate, best, kTurnsOfGain) && Allows(candidate->time()))) Turn(*candidate);
      for (const auto& candidate : candidates)
        if (candidate->measured()) best = std::min(best, candidate->time());
    }
  }

  static bool IsHopeless(const Candidate& candidate, uint64_t best_ns, size_t turns) {
    const double limit = candidate.turns() < turns ? kHopelessAtFirst : kHopeless;
    return static_cast<double>(candidate.time()) > limit * static_cast<double>(best_ns);
  }

  // Measures the two once more, for a longer time: a disturbance during the first turns may have slowed down threads
  // that wait for each other much more than others. Without the time for it the first turns decide.
  bool StaysFaster(Candidate& fastest, Candidate& order) {
    if (!Allows(fastest.time() + order.time())) return true;
    Report("the order once more");
    const uint64_t begin = NowNs();
    for (uint64_t round = 0; round == 0 || (round < kMostRoundsOfClose && NowNs() - begin < settings_.budget_ns / 4);
         ++round) {
      Turn(fastest);
      Turn(order);
      if (!Allows(fastest.time() + order.time())) break;
    }
    return Gains(fastest, order, settings_.margin);
  }

  // The order without each delegate that has nodes, and without all of them, which is the last.
  void AddWithout(std::vector<std::unique_ptr<Candidate>>& candidates) {
    const Candidate& order = *candidates.front();
    const std::set<uint32_t> owners(order.owners().begin(), order.owners().end());
    // Delegates that have nothing in the order may get nodes of others: they are left out of the last one as well.
    Refused all;
    bool any = false;
    for (size_t d = 0; d < CpuOf(subject_.delegates); ++d) {
      if (IsKept(d)) continue;
      all[d] = order.NodesWithin(d);
      any = any || owners.count(static_cast<uint32_t>(d)) != 0;
    }
    if (!any) return;
    for (const auto& [delegate, numbers] : all)
      if (all.size() > 1 && owners.count(static_cast<uint32_t>(delegate)) != 0)
        if (auto made = Make("without " + subject_.delegates[delegate]->name(), {{delegate, numbers}}))
          candidates.push_back(std::move(made));
    if (auto made = Make("the CPU alone", all)) candidates.push_back(std::move(made));
  }

  bool IsKept(size_t delegate) const {
    return delegate >= CpuOf(subject_.delegates) || subject_.delegates[delegate].limits.required ||
           subject_.delegates[delegate]->traits().runs_custom_operators_only;
  }

  // Each partition of the order where it is fastest, by the times of the steps in it and on the CPU. None: it is one of
  // the two.
  std::optional<Refused> EachWhereItIsFastest(Candidate& order, Candidate* cpu) {
    if (cpu == nullptr || !Profile(order) || !Profile(*cpu)) return std::nullopt;
    Refused refused = order.refused();
    bool any = false, all = true;
    for (const Candidate::StepTime& step : order.steps()) {
      if (IsKept(step.delegate)) continue;
      if (cpu->TimeOf(step.nodes) < static_cast<double>(step.ns) * (1 - settings_.margin)) {
        refused[step.delegate].insert(step.nodes.begin(), step.nodes.end());
        any = true;
      } else {
        all = false;
      }
    }
    if (!any || all) return std::nullopt;
    return refused;
  }

  bool Profile(Candidate& candidate) {
    if (!candidate.steps().empty()) return true;
    if (!Allows(3 * candidate.time()) || !WarmUp(candidate) || !candidate.Profile(WithinBudget())) return false;
    candidate.AddTo(costs_, subject_.delegates);
    return true;
  }

  // Measures the candidate in turns with the best one, which it replaces if it gains more than the margin.
  void Try(const std::string& name, Refused refused) {
    std::unique_ptr<Candidate> candidate = Make(name, std::move(refused));
    if (candidate == nullptr) return;
    for (uint64_t round = 0; round == 0 || round < RoundsFor(best_->time()); ++round) {
      Turn(*best_);
      Turn(*candidate);
      if (!candidate->measured()) return;
      if (IsHopeless(*candidate, best_->time(), /*turns=*/2) || !Allows(2 * best_->time())) break;
    }
    if (!Gains(*candidate, *best_, settings_.margin)) return;
    changed_ = std::move(candidate);
    best_ = changed_.get();
  }

  // Of many candidates one may have seemed faster by chance. The best one is measured once more, in turns with that
  // with which the changes began; without a gain of more than the margin, that one is the best.
  void Confirm() {
    if (best_ == base_.get()) return;
    confirming_ = true;
    Report("the fastest once more");
    best_->ForgetTurns();
    const uint64_t begin = NowNs();
    for (uint64_t round = 0;
         round == 0 || round < RoundsFor(base_->time()) || (HasRoundForClose(round, begin) && AreClose(*base_, *best_));
         ++round) {
      Turn(*base_);
      Turn(*best_);
      if (!Allows(2 * base_->time())) break;
    }
    if (!best_->measured() || !Gains(*best_, *base_, settings_.margin)) best_ = base_.get();
  }

  // The slowest partitions, and the operators of delegates, each moved to the next delegate.
  void TryParts() {
    for (const Refused& refused : Moves()) {
      if (!Allows(2 * best_->time())) return;
      Refused more = best_->refused();
      for (const auto& [delegate, numbers] : refused) more[delegate].insert(numbers.begin(), numbers.end());
      Try("a part elsewhere", std::move(more));
    }
  }

  std::vector<Refused> Moves() {
    if (!Profile(*best_)) return {};
    std::vector<std::string_view> types;  // of operators, by number
    ForEachNode(*subject_.graph,
                [&](const Graph& graph, NodeId id, uint32_t) { types.push_back(graph.nodes[id].primitive.op_type()); });
    std::vector<const Candidate::StepTime*> slowest;
    std::map<std::pair<size_t, std::string_view>, std::set<uint32_t>> operators;
    uint64_t total = 0;
    for (const Candidate::StepTime& step : best_->steps()) {
      total += step.ns;
      if (IsKept(step.delegate)) continue;
      slowest.push_back(&step);
      for (const uint32_t number : step.nodes) operators[{step.delegate, types[number]}].insert(number);
    }
    std::sort(slowest.begin(), slowest.end(), [](const auto* a, const auto* b) { return a->ns > b->ns; });
    std::vector<Refused> moves;
    for (const Candidate::StepTime* step : slowest) {
      // Nothing is gained where the whole step takes less than the margin.
      if (moves.size() == kMostPartitions ||
          static_cast<double>(step->ns) < settings_.margin * static_cast<double>(total))
        break;
      moves.push_back({{step->delegate, {step->nodes.begin(), step->nodes.end()}}});
    }
    size_t tried = 0;
    for (const auto& [key, numbers] : operators)
      if (operators.size() > 1 && ++tried <= kMostOperators) moves.push_back({{key.first, numbers}});
    return moves;
  }

  // Beside other work a change of the order must gain more than that may have cost, unless every gain counts: a wrong
  // one makes all later runs slower. Others that take a share of the processors slow down one of two alike placements
  // by about that share, or twice; by 24 times were threads that waited for each other.
  bool IsSure(const SearchResult& result) const {
    constexpr double kLeastLeft = 0.2;
    const double disturbance = result.decision.disturbance, left = std::max(1 - disturbance, kLeastLeft);
    return settings_.margin == 0 || disturbance <= kMostDisturbance ||
           static_cast<double>(result.best_ns) < left * left * static_cast<double>(result.order_ns);
  }

  // The nodes that changed their owner, with the times, and the decision in words. `stays`: the order, although it is
  // not the fastest.
  void Describe(SearchResult& result, bool stays) const {
    const auto share_of = [&](uint64_t ns) { return static_cast<double>(result.best_ns) / static_cast<double>(ns); };
    std::string text = "the order stays";
    bool is_cpu_alone = false;  // the order is not, where anything else was tried
    if (!stays) {
      const std::string time = fmt::format("{}, {} as ordered", TimeText(result.best_ns), TimeText(result.order_ns));
      for (const auto& [delegate, numbers] : best_->refused())
        if (!numbers.empty())
          result.decision.slower.push_back({delegate, {numbers.begin(), numbers.end()}, "a run takes " + time});
      text = best_->is_the_order() ? "the order is the fastest" : best_->name();
      is_cpu_alone = std::all_of(best_->owners().begin(), best_->owners().end(),
                                 [&](uint32_t owner) { return IsCpu(subject_.delegates, owner); });
    }
    if (result.cpu_ns != 0 && result.best_ns != 0 && !is_cpu_alone)
      text += fmt::format(", {:.2f} of the CPU's time", share_of(result.cpu_ns));
    if (!stays && !best_->is_the_order())
      text += fmt::format(", {:.2f} of the order's time", share_of(result.order_ns));
    std::string ended = ended_ ? ", ended by the budget" : "";
    if (others_ > kMostDisturbance)
      ended += fmt::format(", unsure: other processes took {:.0f} % of the processors", 100 * others_);
    else if (best_->spread() > kMostDisturbance)
      ended += fmt::format(", unsure: times varied by {:.0f} %", 100 * best_->spread());
    result.decision.unsure_searches = result.decision.disturbance > kMostDisturbance ? 1 : 0;
    result.decision.summary = fmt::format("{} ({}{})", text, Plural(tried_, "candidate"), ended);
  }

  const SearchSubject& subject_;
  const Execution& sample_;
  const SearchSettings& settings_;
  const CancellationToken& token_;
  const uint64_t start_;
  uint64_t first_compile_ns_ = 0;  // of the time since then, what does not count
  const LoadMeter load_;
  double others_ = 0;  // the share of the processors that other processes took
  // The fastest one of the first candidates; a changed one that is faster; the best of the two.
  std::unique_ptr<Candidate> base_, changed_;
  Candidate* best_ = nullptr;
  bool confirming_ = false;
  std::set<std::vector<uint32_t>> placements_;
  CostTable costs_;
  size_t tried_ = 0;
  bool ended_ = false;
};

Result<SearchResult> SearchPlacement(const SearchSubject& subject, const Execution& sample,
                                     const SearchSettings& settings, const CancellationToken& token) {
  return PlacementSearch(subject, sample, settings, token).Run();
}

}  // namespace deputy::host
