#include "runtime/fallback.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "base/cancellation.hpp"
#include "base/log.hpp"
#include "base/plural.hpp"
#include "graph/graph.hpp"
#include "plan/step_health.hpp"

namespace deputy::host {
namespace {

constexpr size_t kIncidentsKept = 64;

// "cpu", "onednn, cpu": of all nodes, or of these.
std::string DelegatesOf(const Plan& plan, std::span<const uint32_t> nodes = {}) {
  std::set<size_t> used;
  for (const PlacedPartition& partition : plan.placement.partitions)
    if (nodes.empty() || std::find_first_of(nodes.begin(), nodes.end(), partition.spec.nodes.begin(),
                                            partition.spec.nodes.end()) != nodes.end())
      used.insert(partition.delegate);
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

constinit thread_local RunIncidents* RunIncidents::current_ = nullptr;

std::function<void(const CompileProgress&)> CompileReporter(const Engine& engine, const std::string& model) {
  return [&engine, model](const CompileProgress& next) {
    engine.SetCompiling({model, next.number, next.count, next.nodes});
    engine.Report({ProgressStage::kCompile, next.delegate, model, next.number, next.count, next.nodes});
  };
}

void IncidentLog::Add(size_t delegate, Incident incident) {
  if (RunIncidents* run = RunIncidents::Current()) run->Add(incident);
  const MutexLock lock(mutex_);
  ++counts_[delegate].failures;
  incidents_.push_back(std::move(incident));
  if (incidents_.size() > kIncidentsKept) incidents_.pop_front();
}

void IncidentLog::CountDemoted(size_t delegate, int change) {
  const MutexLock lock(mutex_);
  counts_[delegate].demoted += change;
}

HealthReport IncidentLog::Report(const Engine& engine) const {
  const MutexLock lock(mutex_);
  HealthReport report;
  report.incidents.assign(incidents_.begin(), incidents_.end());
  for (size_t d = 0; d < CpuOf(engine.delegates); ++d) {
    const HostedDelegate& hosted = engine.delegates[d];
    DelegateHealthReport delegate;
    delegate.name = hosted->name();
    delegate.failures = counts_[d].failures;
    delegate.demoted_partitions = static_cast<size_t>(counts_[d].demoted);
    if (const uint64_t until = hosted.health == nullptr ? 0 : hosted.health->open_until_ns(); until != 0) {
      const uint64_t now = NowNs();
      delegate.available = false;
      delegate.retry_in = std::chrono::milliseconds(until > now ? (until - now) / 1'000'000 : 0);
    }
    delegate.failing = hosted.health != nullptr && hosted.health->failing();
    report.degraded = report.degraded || !delegate.available || delegate.demoted_partitions != 0 || delegate.failing;
    report.delegates.push_back(std::move(delegate));
  }
  return report;
}

ModelFallback::~ModelFallback() {
  for (const size_t delegate : demoted_partitions_) engine_->incidents->CountDemoted(delegate, -1);
}

Result<std::unique_ptr<Execution>> ModelFallback::CreateAlternative(const Plan& plan, const Step& step,
                                                                    const Status& why, const ExecutionMemory& memory) {
  const MutexLock lock(mutex);
  std::shared_ptr<const Plan>& alternative = step.health->alternative;
  if (alternative == nullptr) {
    const Verdict verdict{Reason::kFailedAtRun, why.ok() ? "its device is not available" : why.ToString()};
    Result<std::shared_ptr<const Plan>> made =
        MakeAlternative(plan, step, RefuseAll(plan, step, verdict), engine_->delegates, engine_->placement, Sources());
    if (!made.ok()) {
      if (why.ok()) return std::move(made).status();
      return Status(why).Advise("no other delegate could take over: " + made.status().ToString());
    }
    alternative = std::move(made).value();
  }
  return Execution::Create(alternative, this, memory);
}

void ModelFallback::Report(const Plan& plan, const Step& step, const StepFailure& failure, const Status& result) {
  const Status& why = failure.why;
  const PlacedPartition& placed = plan.placement.partitions[step.partition];
  const std::string& delegate = plan.delegate_names[placed.delegate];
  std::string others;
  bool is_known = false;  // another session has reported it
  {
    const MutexLock lock(mutex);
    others = DelegatesOf(*step.health->alternative);
    if (result.ok() && !IsDeviceFailure(why)) {
      is_known = !step.health->Demote();
      if (!is_known) Demote(plan, placed.delegate, RefuseAll(plan, step, {Reason::kFailedAtRun, why.ToString()}));
    }
  }
  Incident incident{
      std::chrono::system_clock::now(), model_, delegate, placed.spec.name, placed.spec.nodes.size(), why.ToString(),
      result.ok() ? others : ""};
  engine_->incidents->Add(placed.delegate, incident);
  if (IsDeviceFailure(why)) step.health->Failed();
  std::string consequence = others + (result.ok() ? " ran it instead" : " failed to run it as well");
  LogLevel level = LogLevel::kWarning;
  if (IsDeviceFailure(why)) {
    if (failure.is_first_of_loss && step.health->delegate().DeviceFailed()) {
      const uint64_t wait_ns = step.health->delegate().open_until_ns() - NowNs();
      consequence += fmt::format("; {} is not used for {} ms", delegate, wait_ns / 1'000'000);
    }
  } else if (result.ok()) {
    if (is_known) return;
    consequence = others + " runs it from now on";
  } else {  // the fault is not the delegate's: the run ends with an error of its own
    level = LogLevel::kDebug;
  }
  Log(level, "{}: {} failed to run partition {} ({}): {}; {}", model_, delegate, placed.spec.name,
      Plural(placed.spec.nodes.size(), "node"), why.ToString(), consequence);
}

void ModelFallback::Demote(const Plan& plan, size_t delegate, const Refusals& refused) {
  for (const auto& [node, verdict] : refused)
    if (std::string name = FirstOutput(*plan.graph, plan.graph->nodes[node]); !name.empty())
      demoted_[delegate][std::move(name)] = verdict;
  demoted_partitions_.push_back(delegate);
  engine_->incidents->CountDemoted(delegate, 1);
}

PlanSources ModelFallback::Sources() const {
  PlanSources sources{engine_->store.get(), nullptr, {engine_->verdicts.get(), digest_ ? &*digest_ : nullptr}};
  sources.model = model_;
  sources.plugins = &engine_->plugins;
  if (engine_->progress) sources.progress = CompileReporter(*engine_, model_);
  if (engine_->limits.memory_bytes != 0) sources.weight_limit = engine_->limits.memory_bytes;
  return sources;
}

Status ModelFallback::Verify(const StepRun& run, const CancellationToken& token) {
  const PlacedPartition& placed = run.plan.placement.partitions[run.step.partition];
  const std::string& delegate = run.plan.delegate_names[placed.delegate];
  StepHealth& health = *run.step.health;
  engine_->Report({ProgressStage::kVerification, delegate, placed.spec.name, 0, 0, placed.spec.nodes.size()});
  Result<Verification> found =
      Verifier(engine_->delegates, mutex).Verify(run, engine_->delegates[placed.delegate].tolerances, token);
  if (!found.ok()) return std::move(found).status();
  Log(LogLevel::kDebug, "{}: verified partition {} ({}) of {}: {}, largest difference {:.4g}", model_, placed.spec.name,
      Plural(placed.spec.nodes.size(), "node"), delegate, NameOf(found->outcome), found->max_difference);
  Status status;
  switch (found->outcome) {
    case VerifyOutcome::kNotVerifiable:
      health.StopVerifying();
      Log(LogLevel::kInfo, "{}: partition {} of {} cannot be verified: {}", model_, placed.spec.name, delegate,
          found->text);
      break;
    case VerifyOutcome::kRounding:
      Log(LogLevel::kInfo, "{}: partition {} of {} differs from the CPU by rounding errors: {}", model_,
          placed.spec.name, delegate, found->text);
      [[fallthrough]];
    case VerifyOutcome::kRight:
      health.SetVerified();
      if (health.verdict_key) engine_->verdicts->Save(*health.verdict_key, {});
      break;
    case VerifyOutcome::kWrong: status = ReplaceWrong(run, *found); break;
  }
  if (health.MayVerify()) return status;
  run.plan.graph->DropPages();  // of weights that the CPU has read for the comparison
  const MutexLock lock(mutex);
  health.reference = nullptr;
  return status;
}

PartitionVerdict ModelFallback::VerdictOf(const StepRun& run, const Verification& found) const {
  const PlacedPartition& placed = run.plan.placement.partitions[run.step.partition];
  std::string nodes;
  PartitionVerdict verdict{false, {}, {}};
  for (const std::vector<uint32_t>& group : found.wrong_nodes.groups) {
    std::string names;
    for (const uint32_t position : group) {
      verdict.wrong_nodes.push_back(position);
      names += (names.empty() ? "" : " with ") + Describe(*run.plan.graph, placed.spec.nodes[position]);
    }
    nodes += (nodes.empty() ? "" : "; ") + names;
  }
  if (nodes.empty()) {
    if (placed.spec.nodes.size() == 1) {
      nodes = Describe(*run.plan.graph, placed.spec.nodes[0]);
    } else if (found.wrong_nodes.too_many) {
      nodes = fmt::format("more than {} parts of it", WrongNodes::kMostGroups);
    } else {
      nodes = "no smaller part of it alone";
    }
    for (uint32_t position = 0; position < placed.spec.nodes.size(); ++position)
      verdict.wrong_nodes.push_back(position);
  }
  std::sort(verdict.wrong_nodes.begin(), verdict.wrong_nodes.end());
  const std::string& plugin = engine_->delegates[placed.delegate].plugin_file;
  verdict.text = fmt::format("{}{}, partition {} ({}): {}; wrong: {}", run.plan.delegate_names[placed.delegate],
                             plugin.empty() ? "" : " (" + plugin + ")", placed.spec.name,
                             Plural(placed.spec.nodes.size(), "node"), found.text, nodes);
  return verdict;
}

// The wrong nodes go to the delegates after the step's own. Where the search found none, all of the partition does.
Status ModelFallback::ReplaceWrong(const StepRun& run, const Verification& found) {
  const PlacedPartition& placed = run.plan.placement.partitions[run.step.partition];
  StepHealth& health = *run.step.health;
  const PartitionVerdict verdict = VerdictOf(run, found);
  if (health.verdict_key) {
    PartitionVerdict kept = verdict;
    kept.text += "; model " + model_;  // 'deputy doctor' lists it
    engine_->verdicts->Save(*health.verdict_key, kept);
  }
  const Status wrong = WrongResult(verdict);
  if (!health.delegate().handling().replaces_wrong) return wrong;
  Refusals refused;
  for (const uint32_t position : verdict.wrong_nodes)
    refused[placed.spec.nodes[position]] = {Reason::kWrongResult, verdict.text};

  std::string others;
  {
    const MutexLock lock(mutex);
    Result<std::shared_ptr<const Plan>> alternative =
        MakeAlternative(run.plan, run.step, refused, engine_->delegates, engine_->placement, Sources());
    if (!alternative.ok())
      return Status(wrong).Advise("no other delegate could take over: " + alternative.status().ToString());
    if (!health.demoted()) {  // else another session has reported it
      others = DelegatesOf(**alternative, verdict.wrong_nodes);
      health.alternative = std::move(alternative).value();
      health.Demote();
      Demote(run.plan, placed.delegate, refused);
    }
  }
  DEPUTY_RETURN_IF_ERROR(TakeExpected(run, found));
  if (others.empty()) return {};
  engine_->incidents->Add(placed.delegate,
                          {std::chrono::system_clock::now(), model_, run.plan.delegate_names[placed.delegate],
                           placed.spec.name, refused.size(), wrong.ToString(), others});
  Log(LogLevel::kWarning, "{}: {}; {} of its nodes {} run by {} from now on", model_, wrong.message(), refused.size(),
      refused.size() == 1 ? "is" : "are", others);
  return {};
}

bool ModelFallback::Restrict(const Graph& graph, PlacementOptions& options) const {
  if (demoted_.empty()) return false;
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.nodes[id];
    for (const auto& [delegate, outputs] : demoted_)
      if (const auto found = outputs.find(FirstOutput(graph, node)); found != outputs.end())
        options.refused[{&graph, delegate, id}] = found->second;
    for (const Region& region : node.regions) Restrict(*region.body, options);
  }
  return true;
}

}  // namespace deputy::host
