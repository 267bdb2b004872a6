#include "graph/passes/passes.hpp"

#include <memory>
#include <utility>

#include "graph/passes/cancel_transposes.hpp"
#include "graph/passes/drop_identities.hpp"
#include "graph/passes/drop_unused.hpp"
#include "graph/passes/fold_batch_norm.hpp"
#include "graph/passes/merge_duplicates.hpp"

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

}  // namespace deputy::host
