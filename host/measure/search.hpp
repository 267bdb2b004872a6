// The search for the fastest placement of a model for one set of shapes, by running candidates.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/cancellation.hpp"
#include "execute/execution.hpp"
#include "measure/decision.hpp"
#include "partition/cost_table.hpp"
#include "plan/make_plan.hpp"

namespace deputy::host {

struct SearchSettings {
  uint64_t budget_ns = 1'000'000'000;  // of the whole search, compilation included
  uint64_t first_compile_ns = 0;       // at most so much more, for what it takes to compile the first candidates
  double margin = 0.03;                // the least share of the time that a change of the placement must gain
  // Called before each candidate with its description and the share of the budget that is used; may be empty.
  std::function<void(const std::string& candidate, double used)> progress = {};
  // The share of the processors that other processes have taken since the search began; empty: as the kernel counts it.
  std::function<double()> share_of_others = {};
};

// The model and the delegates of a search. All must outlive it.
struct SearchSubject {
  std::shared_ptr<const Graph> graph;  // with these shapes
  Delegates delegates;
  PlacementOptions options;  // limits, rules and refusals that hold for every candidate
  PlanSources sources;       // without a sibling
  StepFallback* fallback = nullptr;
  ArenaSource* arenas = nullptr;  // as of ExecutionMemory
};

struct SearchResult {
  PlacementDecision decision;
  uint64_t best_ns = 0;               // of a run, as Candidate::time
  uint64_t order_ns = 0, cpu_ns = 0;  // the CPU alone, 0: not measured
  size_t candidates = 0;              // that were measured
  bool complete = true;               // false: the budget ended the search
  CostTable costs;                    // of the nodes in the candidates whose steps were timed
};

// Runs candidates with the inputs that are bound to `sample`, an execution of the model with these shapes, in turns:
// first the placement by the order, without each of its delegates, and on the CPU alone; then partitions and operators
// of the fastest one elsewhere, as long as the budget lasts. What it does not reach stays as the order says. An error:
// the search was cancelled.
Result<SearchResult> SearchPlacement(const SearchSubject& subject, const Execution& sample,
                                     const SearchSettings& settings, const CancellationToken& token);

}  // namespace deputy::host
