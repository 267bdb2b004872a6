// A graph as the kit shows it to a plugin: the nodes of one or more cases, their values, and the primitives as the
// SDK's schema has them. It owns everything that a plugin may point to; constants are in read-only memory.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "case.hpp"
#include "deputy/abi/graph.h"
#include "guarded_buffer.hpp"

namespace deputy::conformance {

struct GraphValue {
  std::string name;
  deputy_dtype dtype = DEPUTY_DTYPE_FLOAT32;
  reference::Dims dims;  // -1 where not known
  uint32_t flags = 0;
  std::unique_ptr<GuardedBuffer> constant;
};

struct GraphNode {
  std::string name;
  reference::Node node;
  std::vector<deputy_value_id> inputs, outputs;
  bool offered = true;
  std::vector<uint64_t> primitive;  // words, so that the bytes are aligned
  size_t primitive_size = 0;
};

}  // namespace deputy::conformance

struct deputy_graph {
 public:
  using Node = deputy::conformance::reference::Node;
  using Tensor = deputy::conformance::reference::Tensor;

  deputy_graph() = default;
  deputy_graph(const deputy_graph&) = delete;
  deputy_graph& operator=(const deputy_graph&) = delete;

  deputy_value_id AddValue(const std::string& name, deputy_dtype dtype, deputy::conformance::reference::Dims dims);
  deputy_value_id AddConstant(const std::string& name, const Tensor& value);
  // In topological order.
  deputy_node_id AddNode(const std::string& name, const Node& node, std::vector<deputy_value_id> inputs,
                         std::vector<deputy_value_id> outputs);
  void AddInput(deputy_value_id value);
  void AddOutput(deputy_value_id value);
  // From now on constants are shown without a pointer; ReadConstant copies them.
  void StreamConstants() { streams_ = true; }

  uint32_t node_count() const { return static_cast<uint32_t>(nodes_.size()); }
  deputy_node_id node_at(uint32_t index) const { return index < node_count() ? index : 0xffffffffu; }
  const deputy::conformance::GraphNode& node(deputy_node_id id) const { return nodes_[id]; }
  deputy::conformance::GraphNode& mutable_node(deputy_node_id id) { return nodes_[id]; }
  const deputy::conformance::GraphValue& value(deputy_value_id id) const { return values_[id]; }
  const std::vector<deputy_value_id>& inputs() const { return inputs_; }
  const std::vector<deputy_value_id>& outputs() const { return outputs_; }

  // Fill the members that the caller's struct has; false for an unknown id.
  bool NodeInfo(deputy_node_id id, deputy_node_info* out) const;
  bool ValueInfo(deputy_value_id id, deputy_value_info* out) const;
  // False for a value that is no constant, and for bytes outside of it.
  bool ReadConstant(deputy_value_id id, uint64_t offset, uint64_t size, void* to) const;
  bool AttributeOf(deputy_node_id id, const char* name, deputy_attribute* out) const;

 private:
  struct Kept {  // the data that an attribute's struct points to
    std::vector<deputy_str> strings;
    std::vector<uint8_t> bytes;
    deputy_tensor tensor{};
  };
  std::deque<deputy::conformance::GraphNode> nodes_;
  std::deque<deputy::conformance::GraphValue> values_;
  std::vector<deputy_value_id> inputs_, outputs_;
  bool streams_ = false;
  mutable std::mutex mutex_;
  mutable std::map<const deputy::conformance::reference::Attribute*, Kept> kept_;
};
