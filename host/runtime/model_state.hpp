// A loaded model: the graph as it imported, and a plan for each set of input shapes in use.
#pragma once

#include <filesystem>
#include <list>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/file.hpp"
#include "deputy/model.hpp"
#include "plan/plan.hpp"
#include "runtime/engine.hpp"
#include "runtime/fallback.hpp"

namespace deputy {

struct Model::State {
  std::string name;  // for messages: the file's name
  // Verified, newest definitions, after the passes that need no shapes but the model's own: plans begin with it and
  // share its constants.
  std::shared_ptr<const host::Graph> graph;
  // The imported graph is read again from the file when it is requested; that of a model from memory is kept.
  std::shared_ptr<const host::MappedFile> file;
  std::filesystem::path path;
  std::shared_ptr<const host::Graph> original;
  std::shared_ptr<host::Engine> engine;
  std::unique_ptr<host::ModelFallback> fallback;
  std::vector<TensorInfo> inputs, outputs;
  bool only_tensors = true;  // all of these

  // The shapes of the inputs when all are fixed by the model. Plans do not differ by inputs that are not tensors; the
  // shape of such an input is empty.
  bool has_static_inputs() const;
  std::vector<Shape> static_shapes() const;
  // Builds `graph` from the imported graph, by one inference, and lists its inputs and outputs. Values that cannot be
  // computed are an error only if all input shapes are static.
  Status Prepare(host::Graph imported);
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
std::vector<TensorInfo> DescribeValues(const Graph& graph, std::span<const ValueId> ids);

// Name in reports: "node 17" when it has none.
std::string NodeName(const Graph& graph, NodeId node);

PlacementReport MakeReport(const Plan& plan, const Engine& engine);

}  // namespace deputy::host
