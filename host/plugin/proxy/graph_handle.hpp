// The model as a plugin sees it during support query, propose and compile: the struct behind `deputy_graph`.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
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

namespace deputy::host {

// What all handles of a view have in common; linear in the size of the graph.
struct GraphForm {
  explicit GraphForm(const GraphView& view);
  // The one that the view keeps, made at the first call.
  static std::shared_ptr<const GraphForm> Of(const GraphView& view);

  const Graph& graph;
  std::vector<NodeId> order;
  std::vector<uint8_t> offered;
  std::vector<uint32_t> group_of;
  std::vector<uint32_t> positions;
  std::vector<uint8_t> value_flags;
  struct OpenShape {
    std::vector<int64_t> dims;  // -1 for every extent that is not known
    std::vector<deputy_extent> extents;
  };
  std::map<ValueId, OpenShape> open_shapes;
  struct Quantization {
    std::vector<float> scales;
    std::vector<int32_t> zero_points;
    deputy_quantization form{};
  };
  std::map<ValueId, Quantization> quantizations;  // as DequantizeLinear and QuantizeLinear state them

 private:
  void AddQuantizations();
};

}  // namespace deputy::host

// Immutable but for a cache of attributes; every pointer that it gives out lives as long as it does, and the graph must
// live longer. [any-thread]
struct deputy_graph {
 public:
  // `tracker` may be null. It records the graph as lent for the graph's lifetime, and must outlive it. `streams`: large
  // constants of files are shown without a pointer.
  explicit deputy_graph(std::shared_ptr<const deputy::host::GraphForm> form,
                        deputy::host::HandleTracker* tracker = nullptr, bool streams = false);
  explicit deputy_graph(const deputy::host::GraphView& view, deputy::host::HandleTracker* tracker = nullptr,
                        bool streams = false)
      : deputy_graph(std::make_shared<const deputy::host::GraphForm>(view), tracker, streams) {}
  ~deputy_graph();
  deputy_graph(const deputy_graph&) = delete;
  deputy_graph& operator=(const deputy_graph&) = delete;

  const deputy::host::Graph& graph() const { return form_->graph; }
  uint32_t node_count() const { return static_cast<uint32_t>(form_->order.size()); }
  // DEPUTY_NO_NODE behind the end.
  deputy_node_id node_at(uint32_t index) const;
  // Position in the order; node_count() for a node that is not shown.
  uint32_t position(deputy_node_id node) const;
  bool offered(deputy_node_id node) const;
  // As in GraphView; may be empty.
  const std::vector<uint32_t>& group_of() const { return form_->group_of; }

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

  const std::shared_ptr<const deputy::host::GraphForm> form_;
  deputy::host::HandleTracker* handle_tracker_;
  const bool streams_;
  mutable std::mutex mutex_;
  mutable std::map<const deputy::schema::Attribute*, AttributeArrays> arrays_;
};
