// A chain of tiny nodes, Add and Relu in turn on [1,4]: what a benchmark of everything but arithmetic needs.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.hpp"

namespace deputy::host::benchmarks {

inline Graph ChainGraph(size_t length) {
  const ValueType type{DType::kFloat32, true, {1, 4}};
  Graph graph;
  ValueId value = graph.AddValue("input", type);
  graph.inputs = {value};
  const std::vector<float> steps = {0.25F, -0.5F, 0.125F, -0.0625F};
  const ValueId step = graph.AddConstant("step", *Tensor::FromValues<float>(DType::kFloat32, {1, 4}, steps));
  for (size_t i = 0; i < length; ++i) {
    Node node;
    node.name = "node" + std::to_string(i);
    node.primitive = PrimitiveBuilder("", i % 2 == 0 ? "Add" : "Relu", 14).Finish();
    node.inputs = i % 2 == 0 ? std::vector<ValueId>{value, step} : std::vector<ValueId>{value};
    value = graph.AddValue("v" + std::to_string(i), type);
    node.outputs = {value};
    graph.nodes.push_back(std::move(node));
  }
  graph.outputs = {value};
  return graph;
}

}  // namespace deputy::host::benchmarks
