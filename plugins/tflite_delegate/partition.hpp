// A part of the interpreter's graph as a model of Deputy, and the choice of these parts.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "../tflite_abi/tflite_abi.hpp"
#include "deputy/context.hpp"
#include "deputy/model.hpp"
#include "model_writer.hpp"
#include "source_graph.hpp"

namespace deputy::tflite_delegate {

using Dims = std::vector<int32_t>;

// [one-thread]
class Partition {
 public:
  // For the shapes in the graph, or for other ones of the inputs, in their order.
  static Result<std::shared_ptr<Partition>> Build(std::shared_ptr<const SourceGraph> graph, Subset subset,
                                                  const deputy::Context& context);
  Status Rebuild(const std::vector<Dims>& inputs);

  const SourceGraph& graph() const { return *graph_; }
  const Subset& subset() const { return subset_; }
  // The indices of the nodes in the interpreter.
  std::vector<int> NodeIndices() const;
  const deputy::Model& model() const { return model_; }
  deputy::Session& session() { return session_; }
  const std::vector<Dims>& input_dims() const { return input_dims_; }
  const std::vector<Dims>& output_dims() const { return output_dims_; }
  // The shape of a tensor with these extents in Deputy, where complex numbers have an axis of their own.
  Shape ShapeOf(int32_t tensor, const Dims& dims) const;

 private:
  Partition(std::shared_ptr<const SourceGraph> graph, Subset subset, const deputy::Context& context)
      : graph_(std::move(graph)), subset_(std::move(subset)), context_(context) {}
  Status Read(const std::vector<Dims>& inputs);

  std::shared_ptr<const SourceGraph> graph_;
  Subset subset_;
  deputy::Context context_;
  deputy::Model model_;
  deputy::Session session_;
  std::vector<Dims> input_dims_, output_dims_;
};

// The largest parts that can be built. Nodes that Deputy cannot read or place are moved to the graph's left ones with
// their reasons. `survey` has the same delegates and `fallback: cpu`: with it, nodes that only the CPU would run are
// left too; null: the CPU's kernels may run nodes. Fails only where the interpreter does.
Result<std::vector<std::shared_ptr<Partition>>> BuildPartitions(tflite_abi::Context* interpreter,
                                                                const std::shared_ptr<SourceGraph>& graph,
                                                                const deputy::Context& context,
                                                                const deputy::Context* survey);

// The node of the interpreter from which a node of the partition's model was made; -1: none.
int SourceOf(const Partition& partition, const std::string& node_name);

}  // namespace deputy::tflite_delegate
