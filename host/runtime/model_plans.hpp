// A model under one configuration: the delegates that run it, and a plan for each set of input shapes in use.
#pragma once

#include <atomic>
#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "deputy/model.hpp"
#include "measure/search.hpp"
#include "plan/plan.hpp"
#include "runtime/dump.hpp"
#include "runtime/engine.hpp"
#include "runtime/fallback.hpp"
#include "runtime/placement_file.hpp"

namespace deputy::host {

// The search for the placement of one set of shapes, which the first session that runs them makes for all.
struct PlacementMeasurement {
  std::atomic<bool> begun{false};
  std::atomic<bool> changed{false};  // the plan for these shapes is another one now
  // The plan follows a decision that is not sure: a run after `look_at_ns` looks whether the machine is less busy.
  std::atomic<bool> provisional{false};
  std::atomic<uint64_t> look_at_ns{0};
  std::optional<LoadMeter> since_look;  // of the run that looks
};

// Keeps its engine, not its model, alive.
struct ModelPlans {
  // Without the names, messages about globs do not tell which nodes the passes have removed.
  ModelPlans(const Model::State& of, std::shared_ptr<Engine> with, std::vector<std::string> imported_names = {});

  // With plans for these shapes, and for those of the model if it fixes them.
  static Result<std::shared_ptr<ModelPlans>> Make(const Model::State& model, std::shared_ptr<Engine> engine,
                                                  const std::vector<std::vector<Shape>>& shapes);

  const Model::State& model;
  const std::shared_ptr<Engine> engine;
  const std::unique_ptr<ModelFallback> fallback;

  struct ShapedPlan {
    std::vector<Shape> shapes;
    std::shared_ptr<const Plan> plan;
    std::shared_ptr<PlacementMeasurement> measurement;  // null: the placement is decided
    std::shared_ptr<PlanDump> dump;                     // null: nothing is dumped
  };
  // Made at the first call for these shapes; the most recently used ones are kept. [any-thread]
  Result<ShapedPlan> PlanFor(std::span<const Shape> shapes);
  // Those of the plans that are kept, the most recently used ones last. [any-thread]
  std::vector<std::vector<Shape>> ShapesInUse() const;
  // Runs the search that is due, with the inputs of a run of the plan that has ended. A deadline limits it.
  void Measure(PlacementMeasurement& measurement, std::span<const Shape> shapes, const Execution& sample,
               const CancellationToken& token);
  enum class EarlierDecision : uint8_t { kMayBeMoreCertain, kIsReplaced };
  // Searches and keeps the decision, for plans to come and in the store.
  Result<SearchResult> Search(std::span<const Shape> shapes, const Execution& sample, const SearchSettings& settings,
                              EarlierDecision earlier, const CancellationToken& token);
  // Reads the placement file beside the model, if there is one.
  void ReadPlacements();
  // A message about that file under another policy than `measured`, which does not read it.
  void ReportUnreadPlacements() const;
  // As the text of a placement file. kFailedPrecondition: nothing was decided.
  Result<std::string> PlacementsText() const;
  // Drops the oldest decision that was not read from the placement file, where there are many.
  void KeepDecision(const std::vector<Shape>& shapes, const PlacementDecision& decision)
      DEPUTY_REQUIRES(fallback->mutex);
  const Placements& decisions() const DEPUTY_REQUIRES(fallback->mutex) { return decisions_; }

 private:
  // Once for a model: a warning for each rule that matches no node of the graph after the passes.
  void CheckNodeGlobs(const Graph& shaped) DEPUTY_REQUIRES(fallback->mutex);
  ShapedPlan* FindPlan(std::span<const Shape> shapes) DEPUTY_REQUIRES(fallback->mutex);
  Result<ShapedPlan> MakePlanFor(std::span<const Shape> shapes) DEPUTY_REQUIRES(fallback->mutex);
  // The key of the decision for these shapes in the store; none: it is not kept.
  std::optional<Digest> DecisionKey(std::span<const Shape> shapes) const;
  // The decision that plans for these shapes follow; none: there is no decision yet.
  std::optional<PlacementDecision> DecisionFor(std::span<const Shape> shapes) const DEPUTY_REQUIRES(fallback->mutex);
  bool LooksQuiet(PlacementMeasurement& measurement) const;
  std::optional<PlacementDecision> FindDecision(const Graph& graph, std::span<const Shape> shapes)
      DEPUTY_REQUIRES(fallback->mutex);

  std::list<ShapedPlan> plans_ DEPUTY_GUARDED_BY(fallback->mutex);         // latest first
  std::vector<std::string> summaries_ DEPUTY_GUARDED_BY(fallback->mutex);  // that the log has
  Placements decisions_ DEPUTY_GUARDED_BY(fallback->mutex);
  // The shapes of those that were measured or stored, the oldest first.
  std::deque<std::vector<Shape>> decided_ DEPUTY_GUARDED_BY(fallback->mutex);
  bool globs_checked_ DEPUTY_GUARDED_BY(fallback->mutex) = false;
  // Of nodes before the passes; only until the rules are checked.
  std::vector<std::string> imported_names_ DEPUTY_GUARDED_BY(fallback->mutex);
};

}  // namespace deputy::host
