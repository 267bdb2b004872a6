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

// The single passes of RunPasses.

// Nodes whose output equals their input are dropped: Identity, Dropout without training, a Cast to the same type, a
// Reshape to the same shape, a product with 1, and pairs that undo each other, such as Unsqueeze and Squeeze. Exact:
// every element keeps its bits. So x + 0 stays, which makes +0 of -0; x + (-0) and x - 0 are dropped.
void DropIdentities(Graph& graph);

// Common subexpressions: nodes with the same operator, attributes and inputs compute the same. Small constants of equal
// content count as one, such as the indices that exporters repeat for each Gather. A duplicate that makes an output of
// the graph stays.
void MergeDuplicates(Graph& graph);

// Consecutive Transposes become one or none; those followed only by elementwise nodes move behind these, where they may
// meet their inverse. Never leaves more Transposes than there were, and moves no value before the node that has another
// reader.
void CancelTransposes(Graph& graph);

// BatchNormalization with constant statistics is a factor and a sum per channel, and so are Mul, Div, Add and Sub with
// a constant per channel. After a Conv, ConvTranspose or Gemm with constant weights they move into weights and bias.
// Needs an intermediate value without other readers. Computed in double and rounded once; left alone where a number
// would not be finite. The convolution keeps its name and its place.
void FoldBatchNorm(Graph& graph);

// Dead code: nodes whose outputs are unused, and constants without readers. One walk from the end; regions of the nodes
// are not changed.
void DropUnused(Graph& graph);

}  // namespace deputy::host
