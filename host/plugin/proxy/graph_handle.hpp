// The model as a plugin sees it during support query, propose and compile: the struct behind `deputy_graph`.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "delegate/delegate.hpp"
#include "deputy/abi/graph.h"

namespace deputy::schema {
struct Attribute;
}  // namespace deputy::schema

namespace deputy::host {
class HandleTracker;
}  // namespace deputy::host

// Immutable but for a cache of attributes; every pointer that it gives out lives as long as it does, and the graph must
// live longer. [any-thread]
struct deputy_graph {
 public:
  // `tracker` may be null. It records the graph as lent for the graph's lifetime, and must outlive it.
  explicit deputy_graph(const deputy::host::GraphView& view, deputy::host::HandleTracker* tracker = nullptr);
  ~deputy_graph();
  deputy_graph(const deputy_graph&) = delete;
  deputy_graph& operator=(const deputy_graph&) = delete;

  const deputy::host::Graph& graph() const { return graph_; }
  uint32_t node_count() const { return static_cast<uint32_t>(order_.size()); }
  // DEPUTY_NO_NODE behind the end.
  deputy_node_id node_at(uint32_t index) const;
  // Position in the order; node_count() for a node that is not shown.
  uint32_t position(deputy_node_id node) const;
  bool offered(deputy_node_id node) const;
  // As in GraphView; may be empty.
  const std::vector<uint32_t>& group_of() const { return group_of_; }

  deputy::Status NodeInfo(deputy_node_id node, deputy_node_info* out) const;
  deputy::Status ValueInfo(deputy_value_id value, deputy_value_info* out) const;
  deputy::Status Attribute(deputy_node_id node, std::string_view name, deputy_attribute* out) const;

 private:
  // Arrays that an attribute needs in the ABI's form and the FlatBuffer does not have.
  struct AttributeArrays {
    std::vector<deputy_str> strings;
    std::vector<int64_t> dims;
    deputy_tensor tensor{};
  };
  const AttributeArrays& Arrays(const deputy::schema::Attribute& attribute) const;

  const deputy::host::Graph& graph_;
  deputy::host::HandleTracker* handle_tracker_;
  std::vector<deputy::host::NodeId> order_;
  std::vector<uint8_t> offered_;
  std::vector<uint32_t> group_of_;
  std::vector<uint32_t> positions_;
  std::vector<uint8_t> value_flags_;
  std::map<deputy_value_id, std::vector<int64_t>> open_dims_;  // -1 for every extent that is not known
  mutable std::mutex mutex_;
  mutable std::map<const deputy::schema::Attribute*, AttributeArrays> arrays_;
};
