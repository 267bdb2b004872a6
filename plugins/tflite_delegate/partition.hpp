// A part of the interpreter's graph as a model of Deputy, and the choice of these parts.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "../tflite_abi/tflite_abi.hpp"
#include "deputy/config.hpp"
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

 private:
  Partition(std::shared_ptr<const SourceGraph> graph, Subset subset, const deputy::Context& context)
      : graph_(std::move(graph)), subset_(std::move(subset)), context_(context) {}

  std::shared_ptr<const SourceGraph> graph_;
  Subset subset_;
  deputy::Context context_;
  deputy::Model model_;
  deputy::Session session_;
  std::vector<Dims> input_dims_, output_dims_;
};

// The largest parts that can be built. Nodes that Deputy cannot read or place are moved to the graph's left ones with
// their reasons, without a fallback also those that only the CPU would run. `sources` are those of the context. Fails
// only where the interpreter does.
Result<std::vector<std::shared_ptr<Partition>>> BuildPartitions(tflite_abi::Context* interpreter,
                                                                const std::shared_ptr<SourceGraph>& graph,
                                                                const deputy::Context& context,
                                                                const ConfigSources& sources);

// The node of the interpreter from which a node of the subset's model was made; -1: none.
int SourceOf(const SourceGraph& graph, const Subset& subset, const std::string& node_name);

}  // namespace deputy::tflite_delegate
