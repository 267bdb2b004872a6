// A loaded model: the graph as it imported, and a plan for each set of input shapes in use.
#pragma once

#include <atomic>
#include <deque>
#include <filesystem>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/file.hpp"
#include "deputy/model.hpp"
#include "measure/search.hpp"
#include "plan/plan.hpp"
#include "runtime/dump.hpp"
#include "runtime/engine.hpp"
#include "runtime/fallback.hpp"
#include "runtime/model_scope.hpp"
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

}  // namespace deputy::host

namespace deputy {

struct Model::State {
  std::string name;  // for errors: the path of the file while it is loaded, then its name
  // For the log: the name of the file.
  std::string log_name() const { return path.empty() ? name : path.filename().string(); }
  // Verified, newest definitions, after the passes that need no shapes but the model's own: plans begin with it and
  // share its constants.
  std::shared_ptr<const host::Graph> graph;
  // The imported graph is read again from the file when it is requested; that of a model from memory is kept.
  std::shared_ptr<const host::MappedFile> file;
  std::filesystem::path path;
  std::shared_ptr<const host::Graph> original;
  NamedShapes input_shapes;                // of BuildOptions
  std::vector<std::string> extra_outputs;  // of BuildOptions
  std::vector<std::string> given_inputs;   // of BuildOptions
  std::vector<std::string> inputs_with_default;
  std::shared_ptr<host::Engine> engine;
  std::unique_ptr<host::ModelFallback> fallback;
  std::shared_ptr<const host::ModelIdentity> identity;  // of `graph`
  std::vector<TensorInfo> inputs, outputs;
  bool only_tensors = true;  // all of these

  // The shapes of the inputs when all are fixed by the model. Plans do not differ by inputs that are not tensors; the
  // shape of such an input is empty.
  bool has_static_inputs() const;
  std::vector<Shape> static_shapes() const;
  std::string ForShapes(std::span<const Shape> shapes) const;
  // Builds `graph` from the imported graph, by one inference, and lists its inputs and outputs. Values that cannot be
  // computed are an error only if all input shapes are static.
  Status Prepare(host::Graph imported);
  // Whether the shapes are possible for the inputs: rank, fixed extents, one number per symbol.
  Status CheckShapes(std::span<const Shape> shapes) const;
  struct ShapedPlan {
    std::vector<Shape> shapes;
    std::shared_ptr<const host::Plan> plan;
    std::shared_ptr<host::PlacementMeasurement> measurement;  // null: the placement is decided
    std::shared_ptr<host::PlanDump> dump;                     // null: nothing is dumped
  };
  // Made at the first call for these shapes; the most recently used ones are kept. [any-thread]
  Result<ShapedPlan> PlanFor(std::span<const Shape> shapes);
  // Runs the search that is due, with the inputs of a run of the plan that has ended. A deadline limits it.
  void Measure(host::PlacementMeasurement& measurement, std::span<const Shape> shapes, const host::Execution& sample,
               const host::CancellationToken& token);
  enum class EarlierDecision : uint8_t { kMayBeMoreCertain, kIsReplaced };
  // Searches and keeps the decision, for plans to come and in the store.
  Result<host::SearchResult> Search(std::span<const Shape> shapes, const host::Execution& sample,
                                    const host::SearchSettings& settings, EarlierDecision earlier,
                                    const host::CancellationToken& token);
  // Reads the placement file beside the model, if there is one.
  void ReadPlacements();
  // A message about that file under another policy than `measured`, which does not read it.
  void ReportUnreadPlacements() const;
  // As the text of a placement file. kFailedPrecondition: nothing was decided.
  Result<std::string> PlacementsText() const;
  // Drops the oldest decision that was not read from the placement file, where there are many.
  void KeepDecision(const std::vector<Shape>& shapes, const host::PlacementDecision& decision)
      DEPUTY_REQUIRES(fallback->mutex);
  const host::Placements& decisions() const DEPUTY_REQUIRES(fallback->mutex) { return decisions_; }

 private:
  // Once for a model: a warning for each rule that matches no node of the graph after the passes.
  void CheckNodeGlobs(const host::Graph& shaped) DEPUTY_REQUIRES(fallback->mutex);
  ShapedPlan* FindPlan(std::span<const Shape> shapes) DEPUTY_REQUIRES(fallback->mutex);
  Result<ShapedPlan> MakePlanFor(std::span<const Shape> shapes) DEPUTY_REQUIRES(fallback->mutex);
  // The key of the decision for these shapes in the store; none: it is not kept.
  std::optional<host::Digest> DecisionKey(std::span<const Shape> shapes) const;
  // The decision that plans for these shapes follow; none: there is no decision yet.
  std::optional<host::PlacementDecision> DecisionFor(std::span<const Shape> shapes) const
      DEPUTY_REQUIRES(fallback->mutex);
  bool LooksQuiet(host::PlacementMeasurement& measurement) const;
  std::optional<host::PlacementDecision> FindDecision(const host::Graph& graph, std::span<const Shape> shapes)
      DEPUTY_REQUIRES(fallback->mutex);

  std::list<ShapedPlan> plans_ DEPUTY_GUARDED_BY(fallback->mutex);         // latest first
  std::vector<std::string> summaries_ DEPUTY_GUARDED_BY(fallback->mutex);  // that the log has
  host::Placements decisions_ DEPUTY_GUARDED_BY(fallback->mutex);
  // The shapes of those that were measured or stored, the oldest first.
  std::deque<std::vector<Shape>> decided_ DEPUTY_GUARDED_BY(fallback->mutex);
  bool globs_checked_ DEPUTY_GUARDED_BY(fallback->mutex) = false;
  // Of nodes before the passes; only until the rules are checked.
  std::vector<std::string> imported_names_ DEPUTY_GUARDED_BY(fallback->mutex);
};

}  // namespace deputy

namespace deputy::host {

// Values of a graph as its caller sees them.
std::vector<TensorInfo> DescribeValues(const Graph& graph, std::span<const ValueId> ids);

PlacementReport MakeReport(const Plan& plan, const Engine& engine);
// Without the lists of partitions and nodes.
PlacementReport MakeShares(const Plan& plan, const Engine& engine);
PlacedGraph MakeReportWithGraph(const Plan& plan, const Engine& engine);
// The delegates of the engine without what depends on a plan, custom-operator kernels included.
std::vector<DelegateReport> ReportDelegates(const Engine& engine);

}  // namespace deputy::host
