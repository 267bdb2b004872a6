// The nodes and values of a partition, read once from the host: what graphs that EPs see are made of.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "deputy/sdk/graph.hpp"
#include "own/value.hpp"

namespace ort {

struct OpAttr {
  std::string name;
  AttributeType type = kUndefinedAttribute;
  int64_t number = 0;
  float real = 0;
  std::string text = {};
  std::vector<int64_t> numbers = {};
  std::vector<float> reals = {};
  std::vector<std::string> texts = {};
  std::vector<int64_t> dims = {};  // of a tensor, with the next three
  ElementType element = 0;
  const void* data = nullptr;
  size_t bytes = 0;
};

namespace own {

namespace sdk = deputy::sdk;

inline constexpr size_t kNone = static_cast<size_t>(-1);

// Numbers of values and nodes are positions in the lists of the model.
struct ModelValue {
  std::string name;  // unique, never empty
  TypeInfo type;
  deputy_value_id id = DEPUTY_NO_VALUE;
  std::vector<std::pair<size_t, size_t>> consumers = {};  // nodes and their inputs
  bool is_read_outside = false;                           // an output of the partition
  std::unique_ptr<Value> constant = {};                   // NULL: not constant
};

struct ModelNode {
  std::string name;  // unique, never empty
  std::string type, domain;
  int32_t since_version = 0;
  deputy_node_id id = DEPUTY_NO_NODE;
  std::vector<size_t> inputs = {}, outputs = {};  // values; kNone: left out
  std::vector<OpAttr> attributes = {};
};

class Model {
 public:
  // The nodes of `partition`. Throws HostFailure, as views do.
  explicit Model(const sdk::PartitionView& partition);

  const std::vector<ModelNode>& nodes() const { return nodes_; }
  const std::vector<ModelValue>& values() const { return values_; }
  const std::string& name() const { return name_; }
  // Domains of the nodes' operators, and the newest definition among them.
  const std::vector<std::pair<std::string, int64_t>>& operator_sets() const { return operator_sets_; }

  // For rewriting: takes the nodes, and sets others, which are in topological order.
  std::vector<ModelNode> TakeNodes() { return std::move(nodes_); }
  void SetNodes(std::vector<ModelNode> nodes);
  // `name` is changed where it is taken. References to values are invalid afterwards.
  size_t NewValue(const std::string& name, ElementType type, std::vector<int64_t> dims);
  void SetConstant(size_t value, Memory memory, size_t bytes);
  std::string NewNodeName(const std::string& name);

  // The constant with its elements: those that are not resident are read at the first call. NULL: not constant, or the
  // host failed to read it. [any-thread]
  const Value* Constant(size_t value) const;
  // The views of the host's call end: constants that were not read before have no elements.
  void Detach() {
    const std::lock_guard<std::mutex> lock(mutex_);
    graph_ = nullptr;
  }

 private:
  size_t Add(const sdk::ValueView& view);
  ModelNode NodeOf(const sdk::NodeView& node);

  const sdk::GraphView* graph_;
  std::string name_;
  std::vector<ModelNode> nodes_;
  std::vector<ModelValue> values_;
  std::vector<sdk::ValueView> views_;  // of the values
  std::unordered_map<deputy_value_id, size_t> numbers_;
  std::set<std::string> value_names_, node_names_;
  std::vector<std::pair<std::string, int64_t>> operator_sets_;
  mutable std::mutex mutex_;
};

}  // namespace own
}  // namespace ort
