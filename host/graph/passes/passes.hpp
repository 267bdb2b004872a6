// Passes over a graph between import and partitioning: types are inferred, constants folded, and redundant nodes
// removed. host/docs/passes.md shows each pass before and after.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "graph/graph.hpp"
#include "graph/inference.hpp"

namespace deputy::host {

enum class Pass : uint8_t {
#define DEPUTY_PASS(name, key, text) k##name,
#include "graph/passes/passes.inc"
};

inline constexpr size_t kPassCount = 0
#define DEPUTY_PASS(name, key, text) +1
#include "graph/passes/passes.inc"
    ;

struct PassInfo {
  Pass pass;
  std::string_view key;   // in the YAML
  std::string_view text;  // description in one line
};

// In the order of the list, which is the order in which they run.
std::span<const PassInfo> AllPasses();

struct PassOptions {
  // Computes constants; without it nothing is folded.
  Evaluator evaluator;
  // Bytes that one fold may add to the model; all together may add sixteen times as much.
  size_t fold_budget_bytes = kDefaultFoldBudget;
  std::array<bool, kPassCount> off{};
  ForeignInference foreign = {};

  bool has(Pass pass) const { return !off[static_cast<size_t>(pass)]; }
  PassOptions& Off(Pass pass) {
    off[static_cast<size_t>(pass)] = true;
    return *this;
  }
};

// InferGraph, then every pass that is not off, in regions too. A node that absorbs another keeps its own name; outputs
// keep theirs. The graph is changed in place and stays verified; a graph that one delegate could run before, it still
// can. Time is linear in the size of the graph and of the changed constants.
Status RunPasses(Graph& graph, const PassOptions& options);

}  // namespace deputy::host
