// The model as a delegate sees it: nodes and values, read from the host's graph on demand. Views live as long as the
// call that provided them; the data of primitive() and constant() lives as long as the model.
#pragma once

#include <cstdint>
#include <exception>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "deputy/abi/delegate.h"
#include "deputy/sdk/attributes.hpp"
#include "deputy/sdk/host.hpp"

namespace deputy::sdk {

// The number of elements; nothing for a negative extent, or a number that could not be counted in bytes.
inline std::optional<int64_t> ElementCount(Span<const int64_t> dims) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / 16;
  int64_t count = 1;
  bool empty = false;
  for (const int64_t extent : dims) {
    if (extent < 0) return std::nullopt;
    if (extent == 0) {
      empty = true;
      continue;
    }
    if (count > kMost / extent) return std::nullopt;
    count *= extent;
  }
  return empty ? 0 : count;
}

// A value that flows between nodes. A default-constructed one is an optional input or output that is left out.
class ValueView {
 public:
  ValueView() { info_.id = DEPUTY_NO_VALUE; }
  explicit ValueView(const deputy_value_info& info) : info_(info) {}

  bool exists() const { return info_.id != DEPUTY_NO_VALUE; }
  deputy_value_id id() const { return info_.id; }
  std::string_view name() const { return ToView(info_.name); }
  DType dtype() const { return static_cast<DType>(info_.dtype); }

  bool rank_known() const { return info_.dims != nullptr || info_.rank > 0 || shape_known(); }
  size_t rank() const { return info_.rank; }
  // Extents, -1 where not known before the run; empty for scalars and for values of unknown rank.
  Span<const int64_t> dims() const { return {info_.dims, info_.dims == nullptr ? 0 : size_t{info_.rank}}; }
  bool shape_known() const { return (info_.flags & DEPUTY_VALUE_SHAPE_KNOWN) != 0; }
  // Only with shape_known(). The largest number where the extents cannot be counted (ElementCount).
  int64_t element_count() const { return ElementCount(dims()).value_or(std::numeric_limits<int64_t>::max()); }

  bool is_graph_input() const { return (info_.flags & DEPUTY_VALUE_GRAPH_INPUT) != 0; }
  bool is_graph_output() const { return (info_.flags & DEPUTY_VALUE_GRAPH_OUTPUT) != 0; }
  // Extents with symbols and limits; empty where all extents are known.
  Span<const deputy_extent> extents() const {
    return {info_.extents, info_.extents == nullptr ? 0 : size_t{info_.rank}};
  }
  // Of the elements, where the model states it; NULL otherwise.
  const deputy_quantization* quantization() const { return info_.quantization; }

  bool is_constant() const { return (info_.flags & DEPUTY_VALUE_CONSTANT) != 0; }
  // False for a constant that GraphView::ReadConstant copies, of a delegate with DEPUTY_DELEGATE_STREAMS_CONSTANTS.
  bool is_resident() const { return (info_.flags & DEPUTY_VALUE_NOT_RESIDENT) == 0; }
  // Dense row-major elements of a constant, owned by the model; NULL if it is not resident.
  const void* constant() const { return info_.constant; }
  size_t constant_bytes() const { return static_cast<size_t>(info_.byte_size); }
  template <class T>
  Span<const T> constant_values() const {
    return {static_cast<const T*>(info_.constant), info_.constant == nullptr ? 0 : constant_bytes() / sizeof(T)};
  }

 private:
  deputy_value_info info_{};
};

class GraphView;

class NodeView {
 public:
  NodeView(const GraphView* graph, const deputy_node_info& info) : graph_(graph), info_(info) {}

  deputy_node_id id() const { return info_.id; }
  std::string_view domain() const { return ToView(info_.domain); }  // "" is ONNX's own
  std::string_view op_type() const { return ToView(info_.op_type); }
  std::string_view name() const { return ToView(info_.name); }
  int32_t since_version() const { return static_cast<int32_t>(info_.since_version); }
  bool offered() const { return (info_.flags & DEPUTY_NODE_OFFERED) != 0; }
  bool has_regions() const { return (info_.flags & DEPUTY_NODE_HAS_REGIONS) != 0; }
  // True for an ONNX operator of this type.
  bool Is(std::string_view type) const { return info_.domain.size == 0 && op_type() == type; }

  size_t input_count() const { return info_.input_count; }
  size_t output_count() const { return info_.output_count; }
  // A ValueView that does not exist if the node has no such input or output.
  inline ValueView input(size_t index) const;
  inline ValueView output(size_t index) const;

  const schema::Primitive* primitive() const {
    return info_.primitive == nullptr ? nullptr : flatbuffers::GetRoot<schema::Primitive>(info_.primitive);
  }
  bool has_attribute(const char* name) const { return HasAttribute(primitive(), name); }
  int64_t Int(const char* name, int64_t fallback) const { return ReadInt(primitive(), name, fallback); }
  float Float(const char* name, float fallback) const { return ReadFloat(primitive(), name, fallback); }
  std::string_view String(const char* name, std::string_view fallback) const {
    return ReadString(primitive(), name, fallback);
  }
  std::vector<int64_t> Ints(const char* name, std::vector<int64_t> fallback) const {
    return ReadInts(primitive(), name, std::move(fallback));
  }
  std::vector<float> Floats(const char* name, std::vector<float> fallback) const {
    return ReadFloats(primitive(), name, std::move(fallback));
  }

 private:
  const GraphView* graph_;
  deputy_node_info info_;
};

// Ends a call in which a function of the host has failed: the layer returns that failure, and vendors need not catch
// this.
class HostFailure final : public std::exception {
 public:
  const char* what() const noexcept override { return "a function of the host failed"; }
};

// The host's graph during one call. Not copied: views point back to it. Nodes and values throw HostFailure where the
// host cannot describe them, so that a view is never empty.
class GraphView {
 public:
  GraphView(Host host, const deputy_graph* graph) : host_(host), graph_(graph) {}
  GraphView(const GraphView&) = delete;
  GraphView& operator=(const GraphView&) = delete;

  const Host& host() const { return host_; }
  const deputy_graph* handle() const { return graph_; }
  size_t node_count() const { return host_.table()->graph_node_count(host_.table()->self, graph_); }
  // The index-th node of a topological order.
  NodeView NodeAt(size_t index) const {
    return Node(host_.table()->graph_node_at(host_.table()->self, graph_, static_cast<uint32_t>(index)));
  }
  NodeView Node(deputy_node_id id) const {
    deputy_node_info info{};
    info.struct_size = sizeof info;
    if (!Ask([&] { return host_.table()->graph_node_info(host_.table()->self, graph_, id, &info); }))
      throw HostFailure();
    return NodeView(this, info);
  }
  ValueView Value(deputy_value_id id) const {
    if (id == DEPUTY_NO_VALUE) return ValueView();
    deputy_value_info info{};
    info.struct_size = sizeof info;
    if (!Ask([&] { return host_.table()->graph_value_info(host_.table()->self, graph_, id, &info); }))
      throw HostFailure();
    return ValueView(info);
  }
  // Copies bytes of a constant, from `offset` on. False: the call fails, as for Ask.
  bool ReadConstant(const ValueView& value, uint64_t offset, void* to, size_t size) const {
    return Ask([&] { return host_.table()->constant_read(host_.table()->self, graph_, value.id(), offset, size, to); });
  }
  std::vector<ValueView> Inputs() const { return Values(host_.table()->graph_inputs); }
  std::vector<ValueView> Outputs() const { return Values(host_.table()->graph_outputs); }

  // For the layer: calls a function of the host that returns a status. A plugin cannot free a status, only return it,
  // and only one of two: a failure is kept here until the call returns, and after it no function is called any more.
  // False: this call or one before it failed.
  template <class Call>
  bool Ask(Call&& call) const {
    if (!failed()) failure_ = call();
    return !failed();
  }
  bool failed() const { return failure_ != nullptr; }
  deputy_status* TakeFailure() const { return std::exchange(failure_, nullptr); }

 private:
  template <class List>
  std::vector<ValueView> Values(List list) const {
    uint32_t count = 0;
    const deputy_value_id* ids = list(host_.table()->self, graph_, &count);
    std::vector<ValueView> values;
    for (uint32_t i = 0; i < count; ++i) values.push_back(Value(ids[i]));
    return values;
  }

  Host host_;
  const deputy_graph* graph_;
  mutable deputy_status* failure_ = nullptr;
};

inline ValueView NodeView::input(size_t index) const {
  return index < info_.input_count ? graph_->Value(info_.inputs[index]) : ValueView();
}
inline ValueView NodeView::output(size_t index) const {
  return index < info_.output_count ? graph_->Value(info_.outputs[index]) : ValueView();
}

// Nodes to compile into one executable. Inputs and outputs are exact and in the order of the run's tensors.
class PartitionView {
 public:
  // `args`: of compile; NULL: the partition is only estimated.
  PartitionView(const GraphView& graph, const deputy_partition& partition, const deputy_compile_args* args = nullptr)
      : graph_(&graph), args_(args), name_(partition.name) {
    for (uint32_t i = 0; i < partition.node_count; ++i) nodes_.push_back(graph.Node(partition.nodes[i]));
    for (uint32_t i = 0; i < partition.input_count; ++i) inputs_.push_back(graph.Value(partition.inputs[i]));
    for (uint32_t i = 0; i < partition.output_count; ++i) outputs_.push_back(graph.Value(partition.outputs[i]));
  }

  const GraphView& graph() const { return *graph_; }
  std::string_view name() const { return ToView(name_); }
  const std::vector<NodeView>& nodes() const { return nodes_; }  // in topological order
  const std::vector<ValueView>& inputs() const { return inputs_; }
  const std::vector<ValueView>& outputs() const { return outputs_; }

  // The element type in which a node is to compute; kUndefined: the delegate's choice.
  DType PrecisionOf(deputy_node_id node) const {
    for (uint64_t i = 0; args_ != nullptr && i < args_->precision_count; ++i)
      if (args_->precision[i].node == node) return static_cast<DType>(args_->precision[i].compute);
    return DType::kUndefined;
  }
  // True when Compile should end with kCancelled, or kDeadlineExceeded. [any-thread]
  bool cancelled() const { return args_ != nullptr && args_->control->cancelled(args_->control->self) != 0; }
  uint64_t deadline_ns() const { return args_ == nullptr ? 0 : args_->deadline_ns; }  // CLOCK_MONOTONIC; 0: none
  int32_t priority() const { return args_ == nullptr ? 0 : args_->priority; }         // larger is more urgent
  // Shows how far Compile is, from 0 to 1, and what it does now.
  void Progress(double done, std::string_view step) const {
    if (args_ == nullptr) return;
    const auto permille = static_cast<uint32_t>(done < 0 ? 0 : done > 1 ? 1000 : done * 1000);
    args_->control->progress(args_->control->self, permille, ToStr(step));
  }

 private:
  const GraphView* graph_;
  const deputy_compile_args* args_;
  deputy_str name_;
  std::vector<NodeView> nodes_;
  std::vector<ValueView> inputs_, outputs_;
};

}  // namespace deputy::sdk
