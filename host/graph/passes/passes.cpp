#include "graph/passes/passes.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace deputy::host {
namespace {

void Rewrite(Graph& graph, const PassOptions& options) {
  // Bodies are shared by copies of a node, so a changed one is a new one.
  for (Node& node : graph.nodes)
    for (Region& region : node.regions) {
      auto body = std::make_shared<Graph>(*region.body);
      Rewrite(*body, options);
      region.body = std::move(body);
    }
  const auto drop_unused = [&] {
    if (options.has(Pass::kDropUnused)) DropUnused(graph);
  };
  if (options.has(Pass::kDropIdentities)) DropIdentities(graph);
  if (options.has(Pass::kMergeDuplicates)) MergeDuplicates(graph);
  if (options.has(Pass::kCancelTransposes)) CancelTransposes(graph);
  drop_unused();  // unused readers would prevent convolutions from absorbing the next node
  if (options.has(Pass::kFoldBatchNorm)) FoldBatchNorm(graph);
  drop_unused();
}

}  // namespace

std::span<const PassInfo> AllPasses() {
  static constexpr PassInfo kPasses[] = {
#define DEPUTY_PASS(name, key, text) {Pass::k##name, #key, text},
#include "graph/passes/passes.inc"
  };
  return kPasses;
}

Status RunPasses(Graph& graph, const PassOptions& options) {
  DEPUTY_RETURN_IF_ERROR(
      InferGraph(graph, {options.evaluator, options.fold_budget_bytes, options.has(Pass::kFoldConstants),
                         options.has(Pass::kFoldShapes), options.has(Pass::kDropUnused), options.foreign}));
  Rewrite(graph, options);
  return {};
}

void DropUnused(Graph& graph) {
  std::vector<uint8_t> needed(graph.values.size(), 0);
  for (const ValueId id : graph.outputs) needed[id] = 1;
  std::vector<uint8_t> keep(graph.nodes.size(), 0);
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    const Node& node = graph.nodes[i];
    keep[i] =
        std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) { return id != kNone && needed[id]; });
    if (keep[i]) node.ForEachRead([&](ValueId id) { needed[id] = 1; });
  }
  size_t kept = 0;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!keep[i]) continue;
    if (kept != i) graph.nodes[kept] = std::move(graph.nodes[i]);
    ++kept;
  }
  graph.nodes.resize(kept);
  for (ValueId id = 0; id < graph.values.size(); ++id)
    if (!needed[id]) graph.values[id].constant = Tensor();
}

}  // namespace deputy::host
