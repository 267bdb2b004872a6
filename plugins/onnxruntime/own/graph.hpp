// Graphs, nodes and values as EPs see them: of all nodes of a model or of some, built once, so that reading them costs
// no more than reading vectors.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "own/model.hpp"

namespace ort {

struct ValueInfo {
  const own::ModelValue* value = nullptr;
  const own::Model* model = nullptr;  // NULL: the value is of a fused node
  size_t number = own::kNone;         // in the model
  const Node* producer = nullptr;     // NULL: not of this graph
  size_t producer_output = 0;
  std::vector<std::pair<const Node*, size_t>> consumers = {};  // in this graph
  bool is_input = false, is_output = false;
};

struct Node {
  const own::ModelNode* node = nullptr;
  size_t id = 0;  // its number in the model
  const Graph* graph = nullptr;
  std::vector<const ValueInfo*> inputs = {}, outputs = {};  // NULL: left out
  std::string provider = {};                                // name of the EP that the node is given to
};

// Its values and nodes live as long as it does, and as its model.
struct Graph {
 public:
  // `nodes`: of the model, in its order.
  Graph(std::shared_ptr<const own::Model> model, const std::vector<size_t>& nodes);
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  const std::shared_ptr<const own::Model>& model() const { return model_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  // In the order in which nodes first read or make them.
  const std::vector<const ValueInfo*>& inputs() const { return inputs_; }
  const std::vector<const ValueInfo*>& outputs() const { return outputs_; }
  const std::vector<const ValueInfo*>& initializers() const { return initializers_; }

  // Constants become inputs too, in the order of their first use, as in a fused node whose EP keeps no copies of them.
  void AddConstantInputs() { inputs_ = values_read_; }

  bool is_kept = false;  // owned by a call: releasing it has no effect

 private:
  ValueInfo* InfoOf(std::vector<ValueInfo*>& infos, size_t value);

  std::shared_ptr<const own::Model> model_;
  std::vector<Node> nodes_;
  std::deque<ValueInfo> values_;
  std::vector<const ValueInfo*> inputs_, outputs_, initializers_;
  std::vector<const ValueInfo*> values_read_;  // that no node of the graph makes, constants included
};

// The nodes that an EP takes of a graph, by their numbers in the model.
struct EpGraphSupportInfo {
  struct Fused {
    std::vector<size_t> nodes;
    bool drops_constants = false;
  };
  std::vector<Fused> fused = {};
  std::vector<size_t> single = {};  // to run by a kernel of the EP's registry
};

}  // namespace ort
