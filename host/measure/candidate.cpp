#include "measure/candidate.hpp"

#include <algorithm>
#include <numeric>

#include "measure/search.hpp"
#include "plan/make_plan.hpp"
#include "tensor/shape.hpp"

namespace deputy::host {
namespace {

constexpr int kProfiledRuns = 3;
constexpr uint64_t kLongRunNs = 50'000'000;  // one such run is enough for the times of steps
constexpr double kMarginOfOneTurn = 0.2;     // more than the margin; divided by the number of turns
constexpr double kLeastGainNs = 250;

void CollectPlans(const Plan& plan, std::map<const Graph*, const Plan*>& plans) {
  plans[plan.graph.get()] = &plan;
  for (const Step& step : plan.steps)
    for (const Branch& branch : step.branches) CollectPlans(*branch.plan, plans);
}

// At least 1.
double AmountOf(const Graph& graph, NodeId id) {
  const Node& node = graph.nodes[id];
  return 1 + static_cast<double>(MultiplyAdds(graph, node)) + static_cast<double>(BytesOf(graph, node));
}

// Whether the reason holds however the other delegates place their nodes.
bool IsFinal(Reason reason) {
  return (reason > Reason::kSupported && reason <= Reason::kOther) || reason == Reason::kDeniedByRule ||
         reason == Reason::kNoTensor;
}

}  // namespace

Status Candidate::Prepare(const SearchSubject& subject, PlacementOptions options, const Execution& sample) {
  DEPUTY_ASSIGN_OR_RETURN(plan_, MakePlan(subject.graph, subject.delegates, std::move(options), subject.sources));
  DEPUTY_ASSIGN_OR_RETURN(execution_, Execution::Create(plan_, subject.fallback, {subject.arenas, nullptr}));
  DEPUTY_RETURN_IF_ERROR(BindTensors(sample));
  std::map<const Graph*, const Plan*> plans;
  CollectPlans(*plan_, plans);
  excluded_.resize(subject.delegates.size());
  ForEachNode(*plan_->graph, [&](const Graph& graph, NodeId id, uint32_t number) {
    if (&graph == plan_->graph.get()) number_of_.push_back(number);
    // A region without a plan belongs to its node, which a delegate owns as a whole.
    const auto found = plans.find(&graph);
    const Placement* const placement = found == plans.end() ? nullptr : &found->second->placement;
    owners_.push_back(placement == nullptr ? owners_.back() : static_cast<uint32_t>(placement->delegate_of(id)));
    for (size_t d = 0; d < excluded_.size(); ++d)
      excluded_[d].push_back(placement != nullptr && owners_.back() != d && IsFinal(placement->verdicts[d][id].reason));
  });
  return {};
}

Status Candidate::BindTensors(const Execution& sample) {
  const Graph& graph = *plan_->graph;
  std::set<ValueId> bound;
  for (const ValueId id : graph.inputs) {
    execution_->Bind(id, sample.tensor(id).data);
    bound.insert(id);
  }
  for (const ValueId id : graph.outputs) {
    const Slot& slot = plan_->slots[id];
    if (slot.storage != StorageClass::kBound || !bound.insert(id).second) continue;
    DEPUTY_ASSIGN_OR_RETURN(const size_t bytes, ByteSize(slot.dtype, slot.dims));
    AlignedBytes memory = AllocateWithinMachine(bytes);
    if (memory == nullptr) return Error(StatusCode::kResourceExhausted, "no memory for {} bytes of outputs", bytes);
    execution_->Bind(id, memory.get());
    outputs_.push_back(std::move(memory));
  }
  return {};
}

void Candidate::AddTurn(uint64_t median_ns) {
  median_ns = std::max<uint64_t>(1, median_ns);
  if (turns_++ == 0 || median_ns < time_)
    second_ = std::exchange(time_, median_ns);
  else
    second_ = second_ == 0 ? median_ns : std::min(second_, median_ns);
}

double Candidate::spread() const {
  return turns_ < 2 ? 0 : static_cast<double>(second_) / static_cast<double>(time_) - 1;
}

bool Candidate::Profile(const CancellationToken& token) {
  std::vector<uint64_t> least(plan_->steps.size(), UINT64_MAX);
  std::vector<StepSpan> spans(plan_->steps.size());
  for (int run = 0; run < kProfiledRuns; ++run) {
    if (!execution_->Run(token, spans).ok()) return false;
    for (size_t i = 0; i < spans.size(); ++i)
      if (plan_->steps[i].runs()) least[i] = std::min(least[i], spans[i].ns());
    if (time_ > kLongRunNs) break;
  }
  share_ns_.assign(owners_.size(), 0);
  for (size_t i = 0; i < plan_->steps.size(); ++i) {
    const PlacedPartition& placed = plan_->placement.partitions[plan_->steps[i].partition];
    StepTime step{placed.delegate, {}, least[i] == UINT64_MAX ? 0 : least[i]};
    double whole = 0;
    for (const NodeId node : placed.spec.nodes) whole += AmountOf(*plan_->graph, node);
    for (const NodeId node : placed.spec.nodes) {
      step.nodes.push_back(number_of_[node]);
      share_ns_[number_of_[node]] = static_cast<double>(step.ns) * AmountOf(*plan_->graph, node) / whole;
    }
    steps_.push_back(std::move(step));
  }
  return true;
}

void Candidate::AddTo(CostTable& costs, Delegates delegates) const {
  const Graph& graph = *plan_->graph;
  std::vector<std::string> keys;
  for (const HostedDelegate& delegate : delegates) keys.push_back(CostKeyOf(*delegate));
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.nodes[id];
    const double ns = share_ns_[number_of_[id]];
    if (ns > 0 && node.regions.empty())
      costs.Add(keys[owners_[number_of_[id]]], OperatorOf(node), MainTypeOf(graph, node), WorkOf(graph, node), ns);
  }
}

std::set<uint32_t> Candidate::NodesWithin(size_t delegate) const {
  std::set<uint32_t> nodes;
  for (uint32_t number = 0; number < owners_.size(); ++number)
    if (excluded_[delegate][number] == 0) nodes.insert(nodes.end(), number);
  return nodes;
}

double Candidate::TimeOf(const std::vector<uint32_t>& nodes) const {
  return std::accumulate(nodes.begin(), nodes.end(), 0.0,
                         [&](double sum, uint32_t number) { return sum + share_ns_[number]; });
}

bool Gains(const Candidate& candidate, const Candidate& other, double margin) {
  const size_t turns = std::min(candidate.turns(), other.turns());
  const double ratio = candidate.RatioTo(other);
  const double least_share = margin + (turns < kTurnsOfGain ? kMarginOfOneTurn / static_cast<double>(turns) : 0);
  const double least_ns = margin > 0 ? kLeastGainNs : 0;
  return ratio < 1 - least_share && (1 - ratio) * static_cast<double>(other.time()) >= least_ns;
}

}  // namespace deputy::host
