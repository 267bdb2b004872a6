// Consequences of a delegate's failure at run time, or of a wrong result: another delegate runs the partition or the
// nodes that were computed wrongly, once or from then on, and the incident is kept for reports.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.hpp"
#include "deputy/health.hpp"
#include "execute/execution.hpp"
#include "plan/make_plan.hpp"
#include "runtime/engine.hpp"
#include "verify/verifier.hpp"

namespace deputy::host {

// Reports partitions of the model as stages of loading, as long as the engine lives.
std::function<void(const CompileProgress&)> CompileReporter(const Engine& engine, const std::string& model);

// Collects the incidents of the run that this thread is in, as long as it lives.
class RunIncidents {
 public:
  explicit RunIncidents(std::vector<Incident>& incidents) : incidents_(incidents), outer_(current_) {
    incidents.clear();
    current_ = this;
  }
  ~RunIncidents() { current_ = outer_; }
  RunIncidents(const RunIncidents&) = delete;
  RunIncidents& operator=(const RunIncidents&) = delete;

  static RunIncidents* Current() { return current_; }
  void Add(const Incident& incident) { incidents_.push_back(incident); }

 private:
  static constinit thread_local RunIncidents* current_;
  std::vector<Incident>& incidents_;
  RunIncidents* const outer_;
};

// The incidents of all models of an engine. [any-thread]
class IncidentLog {
 public:
  explicit IncidentLog(size_t delegates) : counts_(delegates) {}

  void Add(size_t delegate, Incident incident);
  // `change`: how many more partitions of the delegate are demoted.
  void CountDemoted(size_t delegate, int change);
  HealthReport Report(const Engine& engine) const;

 private:
  struct Counts {
    uint64_t failures = 0;
    int demoted = 0;
  };
  mutable Mutex mutex_;
  std::vector<Counts> counts_ DEPUTY_GUARDED_BY(mutex_);  // per delegate
  std::deque<Incident> incidents_ DEPUTY_GUARDED_BY(mutex_);
};

// Answers the failures in all sessions of a model.
class ModelFallback final : public StepFallback {
 public:
  ModelFallback(std::string model, std::shared_ptr<Engine> engine)
      : model_(std::move(model)), engine_(std::move(engine)) {}
  ~ModelFallback() override;

  Result<std::unique_ptr<Execution>> CreateAlternative(const Plan& plan, const Step& step, const Status& why,
                                                       const ExecutionMemory& memory) override;
  void Report(const Plan& plan, const Step& step, const StepFailure& failure, const Status& result) override;
  Status Verify(const StepRun& run, const CancellationToken& token) override;

  // Sources for the model's plans and their alternatives.
  PlanSources Sources() const;
  // Of the content of the model's files, if decisions about it are kept; set before its first plan.
  void set_digest(std::optional<Digest> digest) { digest_ = digest; }
  const std::optional<Digest>& digest() const { return digest_; }

  // Keeps nodes of a new plan away from delegates that failed to run them at other shapes. False: there are none.
  bool Restrict(const Graph& graph, PlacementOptions& options) const DEPUTY_REQUIRES(mutex);

  // Of the model: held while its plans are looked up and made, and for StepHealth's plans of its steps. Not while they
  // run. No other lock of a model is taken with it.
  mutable Mutex mutex;

 private:
  PartitionVerdict VerdictOf(const StepRun& run, const Verification& found) const;
  Status ReplaceWrong(const StepRun& run, const Verification& found);
  // Keeps the nodes away from the delegate in plans to come, for all shapes.
  void Demote(const Plan& plan, size_t delegate, const Refusals& refused) DEPUTY_REQUIRES(mutex);

  const std::string model_;
  const std::shared_ptr<Engine> engine_;
  std::optional<Digest> digest_;
  // By delegate: the first outputs of nodes that it must not have any more, which identify these at all shapes, and the
  // reason.
  std::map<size_t, std::map<std::string, Verdict>> demoted_ DEPUTY_GUARDED_BY(mutex);
  std::vector<size_t> demoted_partitions_ DEPUTY_GUARDED_BY(mutex);  // the delegate of each
};

}  // namespace deputy::host
