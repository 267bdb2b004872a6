#include "runtime/fallback.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/cancellation.hpp"
#include "base/log.hpp"

namespace deputy::host {
namespace {

constexpr size_t kIncidentsKept = 64;

// "cpu", "onednn, cpu"
std::string DelegatesOf(const Plan& plan) {
  std::set<size_t> used;
  for (const PlacedPartition& partition : plan.placement.partitions) used.insert(partition.delegate);
  std::string names;
  for (const size_t delegate : used) names += (names.empty() ? "" : ", ") + plan.delegate_names[delegate];
  return names;
}

// A name of the node that is the same at all shapes; empty where the model has no name for it.
std::string FirstOutput(const Graph& graph, const Node& node) {
  const auto output = std::find_if(node.outputs.begin(), node.outputs.end(), [](ValueId id) { return id != kNone; });
  return output == node.outputs.end() ? std::string() : graph.values[*output].name;
}

}  // namespace

void IncidentLog::Add(size_t delegate, Incident incident) {
  const std::lock_guard lock(mutex_);
  ++counts_[delegate].failures;
  incidents_.push_back(std::move(incident));
  if (incidents_.size() > kIncidentsKept) incidents_.pop_front();
}

void IncidentLog::CountDemoted(size_t delegate, int change) {
  const std::lock_guard lock(mutex_);
  counts_[delegate].demoted += change;
}

HealthReport IncidentLog::Report(const Engine& engine) const {
  const std::lock_guard lock(mutex_);
  HealthReport report;
  report.incidents.assign(incidents_.begin(), incidents_.end());
  for (size_t d = 0; d + 1 < engine.delegates.size(); ++d) {
    DelegateHealthReport delegate;
    delegate.name = engine.delegates[d]->name();
    delegate.failures = counts_[d].failures;
    delegate.demoted_partitions = static_cast<size_t>(counts_[d].demoted);
    if (const uint64_t until = engine.health[d] == nullptr ? 0 : engine.health[d]->open_until_ns(); until != 0) {
      const uint64_t now = NowNs();
      delegate.available = false;
      delegate.retry_in = std::chrono::milliseconds(until > now ? (until - now) / 1'000'000 : 0);
    }
    report.degraded = report.degraded || !delegate.available || delegate.demoted_partitions != 0;
    report.delegates.push_back(std::move(delegate));
  }
  return report;
}

ModelFallback::~ModelFallback() {
  for (const size_t delegate : demoted_partitions_) engine_->incidents->CountDemoted(delegate, -1);
}

Result<std::unique_ptr<Execution>> ModelFallback::CreateAlternative(const Plan& plan, const Step& step,
                                                                    const Status& why) {
  const std::lock_guard lock(engine_->load_mutex);
  std::shared_ptr<const Plan>& alternative = step.health->alternative;
  if (alternative == nullptr) {
    const PlanSources sources{engine_->store.get(), nullptr, engine_->health};
    Result<std::shared_ptr<const Plan>> made =
        MakeAlternative(plan, step, why, engine_->delegates, engine_->placement, sources);
    if (!made.ok()) {
      if (why.ok()) return std::move(made).status();
      return Status(why).Advise("no other delegate could take over: " + made.status().ToString());
    }
    alternative = std::move(made).value();
  }
  return Execution::Create(alternative, this);
}

void ModelFallback::Report(const Plan& plan, const Step& step, const Status& why, const Status& result) {
  const PlacedPartition& placed = plan.placement.partitions[step.partition];
  const std::string& delegate = plan.delegate_names[placed.delegate];
  const std::string others = DelegatesOf(*step.health->alternative);
  Incident incident{
      std::chrono::system_clock::now(), model_, delegate, placed.spec.name, placed.spec.nodes.size(), why.ToString(),
      result.ok() ? others : ""};
  engine_->incidents->Add(placed.delegate, incident);
  std::string consequence = others + (result.ok() ? " ran it instead" : " failed to run it as well");
  LogLevel level = LogLevel::kWarning;
  if (IsDeviceFailure(why)) {
    if (step.health->delegate().DeviceFailed()) {
      const uint64_t wait_ns = step.health->delegate().open_until_ns() - NowNs();
      consequence += fmt::format("; {} is not used for {} ms", delegate, wait_ns / 1'000'000);
    }
  } else if (result.ok()) {
    if (!step.health->Demote()) return;  // another session has reported it
    const std::lock_guard lock(engine_->load_mutex);
    for (const NodeId node : placed.spec.nodes)
      if (std::string name = FirstOutput(*plan.graph, plan.graph->nodes[node]); !name.empty())
        demoted_[placed.delegate][std::move(name)] = why.ToString();
    demoted_partitions_.push_back(placed.delegate);
    engine_->incidents->CountDemoted(placed.delegate, 1);
    consequence = others + " runs it from now on";
  } else {  // the fault is not the delegate's: the run ends with an error of its own
    level = LogLevel::kDebug;
  }
  Log(level, "{}: {} failed to run partition {} ({} nodes): {}; {}", model_, delegate, placed.spec.name,
      placed.spec.nodes.size(), why.ToString(), consequence);
}

bool ModelFallback::Restrict(const Graph& graph, PlacementOptions& options) const {
  if (demoted_.empty()) return false;
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.nodes[id];
    for (const auto& [delegate, outputs] : demoted_)
      if (const auto found = outputs.find(FirstOutput(graph, node)); found != outputs.end())
        options.refused[{&graph, delegate, id}] = {Reason::kFailedAtRun, found->second};
    for (const Region& region : node.regions) Restrict(*region.body, options);
  }
  return true;
}

}  // namespace deputy::host
