// Writes nodes and constants into a graph. Each node has its operator's newest definition and is typed as it is
// written, so that the following operators can read ranks and extents.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "deputy/tensor.hpp"
#include "graph/graph.hpp"

namespace deputy::host::tflite_import {

struct NodeAttribute {
  std::string_view name;
  PrimitiveBuilder::Attribute value;
};
using NodeAttributes = std::vector<NodeAttribute>;

// [one-thread]
class Emitter {
 public:
  explicit Emitter(Graph& graph) : graph_(graph) {}

  Graph& graph() { return graph_; }
  const Graph& graph() const { return graph_; }
  // Nodes from here on are named "<name>/<operator>".
  void BeginOperator(std::string name);
  // Saved, to continue an operator after others.
  struct Place {
    std::string name;
    std::unordered_map<std::string, int> used;  // by the nodes of this operator
  };
  Place TakePlace() { return std::move(place_); }
  void ReturnTo(Place place) { place_ = std::move(place); }
  const std::string& operator_name() const { return place_.name; }

  // Adds a node and returns its first output, or as many as requested.
  Result<ValueId> Emit(OpKind kind, std::vector<ValueId> inputs, const NodeAttributes& attributes = {});
  Result<std::vector<ValueId>> EmitMany(OpKind kind, std::vector<ValueId> inputs, size_t outputs,
                                        const NodeAttributes& attributes = {});

  // A node with regions and outputs of these types.
  std::vector<ValueId> EmitRegions(OpKind kind, std::vector<ValueId> inputs, std::vector<Region> regions,
                                   const std::vector<ValueType>& types, const NodeAttributes& attributes = {});

  // A node of an operator that Deputy does not know, with outputs of these types.
  std::vector<ValueId> EmitForeign(const PrimitiveBuilder& builder, std::vector<ValueId> inputs,
                                   const std::vector<ValueType>& types);

  ValueId Constant(Tensor tensor);
  // int64 of rank 1, or of rank 0.
  Result<ValueId> Ints(std::span<const int64_t> values);
  Result<ValueId> Int(int64_t value);
  // Of rank 0, in the given type; an error where that is an integer type which cannot have the value.
  Result<ValueId> Number(double value, DType dtype);

  const ValueType& TypeOf(ValueId id) const { return graph_.values[id].type; }
  const std::vector<int64_t>& DimsOf(ValueId id) const { return graph_.values[id].type.dims; }
  size_t RankOf(ValueId id) const { return graph_.values[id].type.dims.size(); }
  const Tensor& ConstantOf(ValueId id) const { return graph_.values[id].constant; }  // empty: none
  // Gives the output of a node its name in the file; the first name is kept.
  void Name(ValueId id, const std::string& name);

  // Emits nothing if the element type, or the order, is the same already.
  Result<ValueId> Cast(ValueId id, DType dtype);
  Result<ValueId> Transposed(ValueId id, std::span<const int64_t> perm);

 private:
  std::string NameFor(std::string_view base);
  Node MakeNode(OpKind kind, std::vector<ValueId> inputs, const NodeAttributes& attributes);

  Graph& graph_;
  Place place_;
  std::vector<uint8_t> named_;
};

// A constant with permuted axes, like Transpose: axis i of the result is axis perm[i] of `tensor`. Works on any element
// type with a size.
Result<Tensor> Permuted(const Tensor& tensor, std::span<const int64_t> perm);

// {list[perm[0]], list[perm[1]], ...}
std::vector<int64_t> Permuted(std::span<const int64_t> list, std::span<const int64_t> perm);

// The same bytes in another shape of as many elements.
Result<Tensor> Reshaped(const Tensor& tensor, Shape shape);

}  // namespace deputy::host::tflite_import
