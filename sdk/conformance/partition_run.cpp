#include "partition_run.hpp"

#include <algorithm>

#include "partitions.hpp"

namespace deputy::conformance {
namespace {

struct Part {
  Claim claim;
  std::unique_ptr<Executable> executable;
  std::unique_ptr<Context> context;
};

std::string NamesOf(const deputy_graph& graph, const Claim& claim) {
  std::string names;
  for (const deputy_node_id node : claim.nodes) names += (names.empty() ? "" : ", ") + graph.node(node).name;
  return names;
}

}  // namespace

size_t RunPartitions(TestRun& run, Instance& instance, const std::string& label, const ModelGraph& shown,
                     bool reversed) {
  const deputy_graph& graph = shown.graph;
  std::vector<Part> parts;
  size_t failures = run.failures(), several = 0;
  for (Claim& claim : PartitionsOf(instance, graph)) {
    const std::string where = "partition of " + NamesOf(graph, claim) + ": ";
    // A delegate that forms its own partitions determines their binding.
    if (reversed && !instance.proposes()) {
      std::reverse(claim.inputs.begin(), claim.inputs.end());
      std::reverse(claim.outputs.begin(), claim.outputs.end());
    }
    Outcome outcome;
    Part part;
    part.executable = instance.Compile(graph, claim, &outcome);
    if (part.executable == nullptr) {
      // A host reassigns the nodes to the next delegate, so that this is allowed unless the delegate proposed the
      // partition.
      if (outcome.code != DEPUTY_NOT_SUPPORTED || claim.nodes.size() == 1 || instance.proposes())
        run.Failed(label, where + "it takes the nodes, and then compile refuses them: " + outcome.ToString());
      continue;
    }
    std::string why_not;
    part.context = part.executable->CreateContext(&why_not);
    if (part.context == nullptr) {
      run.Failed(label, where + "context_create fails: " + why_not);
      continue;
    }
    if (claim.nodes.size() > 1) ++several;
    part.claim = std::move(claim);
    parts.push_back(std::move(part));
  }
  for (int round = 0; round < 2; ++round)
    for (const Part& part : parts) {
      const std::string wrong = FaultOfRuns(shown, part.claim, *part.context, run.settings().computes_in);
      if (!wrong.empty()) run.Failed(label, "partition of " + NamesOf(graph, part.claim) + ": " + wrong);
    }
  if (run.NoFaults(instance.plugin(), label) && run.failures() == failures && several != 0) run.Passed(label);
  return several;
}

}  // namespace deputy::conformance
