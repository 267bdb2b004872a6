// A loaded model: the graph as it came, and a plan for each set of input shapes in use.
#pragma once

#include <list>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "deputy/model.hpp"
#include "plan/plan.hpp"
#include "runtime/engine.hpp"

namespace deputy {

struct Model::State {
  std::string name;                          // for messages: the file's name
  std::shared_ptr<const host::Graph> graph;  // verified, newest definitions
  std::shared_ptr<host::Engine> engine;
  std::vector<TensorInfo> inputs, outputs;

  // The shapes of the inputs when all are fixed by the model.
  bool has_static_inputs() const;
  std::vector<Shape> static_shapes() const;
  // Whether the shapes are possible for the inputs: rank, fixed extents, one number per symbol.
  Status CheckShapes(std::span<const Shape> shapes) const;
  // Made at the first call for these shapes; the most recently used ones are kept. [any-thread]
  Result<std::shared_ptr<const host::Plan>> PlanFor(std::span<const Shape> shapes);

 private:
  Result<std::shared_ptr<const host::Plan>> MakePlanFor(std::span<const Shape> shapes) const;

  std::list<std::pair<std::vector<Shape>, std::shared_ptr<const host::Plan>>> plans_;  // latest first
};

}  // namespace deputy

namespace deputy::host {

// Values of a graph as its caller sees them.
std::vector<TensorInfo> DescribeValues(const Graph& graph, const std::vector<ValueId>& ids);

PlacementReport MakeReport(const Plan& plan, const Engine& engine);

}  // namespace deputy::host
