// A graph of one old node, upgraded, for tests of its structure and of what it computes.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "graph/upgrade/upgrade.hpp"
#include "unit/graph/passes/pass_graph.hpp"

namespace deputy::host {

inline Graph Upgraded(Graph graph) {
  const Status status = UpgradeGraph(graph);
  EXPECT_TRUE(status.ok()) << status.ToString();
  const Status verified = VerifyGraph(graph);
  EXPECT_TRUE(verified.ok()) << verified.ToString();
  return graph;
}

// The node on these inputs, of which those that are not empty are constants; graph inputs have float32 elements.
inline PassGraph OldNode(const PrimitiveBuilder& builder, const std::vector<Dims>& inputs,
                         const std::vector<Tensor>& constants = {}, size_t outputs = 1) {
  PassGraph made;
  std::vector<ValueId> ids;
  for (const Dims& dims : inputs) ids.push_back(made.Input("x" + std::to_string(ids.size()), dims));
  for (const Tensor& constant : constants) ids.push_back(made.Constant(constant));
  made.Output(made.Node(builder, ids, outputs));
  return made;
}

inline Tensor Result1(const PassGraph& made, const std::vector<Tensor>& inputs) {
  return Evaluated(Upgraded(made.graph), inputs)[0];
}

template <class T>
std::vector<T> ElementsOf(const Tensor& tensor) {
  return {tensor.values<T>().begin(), tensor.values<T>().end()};
}

inline Status UpgradeError(const PassGraph& made) {
  Graph graph = made.graph;
  return UpgradeGraph(graph);
}

}  // namespace deputy::host
