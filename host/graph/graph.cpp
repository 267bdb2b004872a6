#include "graph/graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <unordered_map>

#include "base/checked.hpp"
#include "base/file.hpp"
#include "base/printable.hpp"
#include "graph/describe_node.hpp"

namespace deputy::host {

ValueId Graph::AddValue(std::string value_name, ValueType type) {
  values.push_back({std::move(value_name), std::move(type), {}});
  return static_cast<ValueId>(values.size() - 1);
}

ValueId Graph::AddConstant(std::string value_name, Tensor tensor) {
  ValueType type{tensor.dtype(), true, tensor.shape()};
  values.push_back({std::move(value_name), std::move(type), std::move(tensor)});
  return static_cast<ValueId>(values.size() - 1);
}

size_t Graph::AddSymbol(const std::string& symbol) {
  const auto found = std::find(symbols.begin(), symbols.end(), symbol);
  if (found != symbols.end()) return static_cast<size_t>(found - symbols.begin());
  symbols.push_back(symbol);
  return symbols.size() - 1;
}

std::vector<NodeId> Graph::Producers() const {
  std::vector<NodeId> producers(values.size(), kNone);
  for (NodeId node = 0; node < nodes.size(); ++node)
    for (const ValueId id : nodes[node].outputs)
      if (id != kNone) producers[id] = node;
  return producers;
}

CompressedLists Graph::Consumers() const {
  CompressedLists consumers(values.size(), [this](const auto& add) {
    for (NodeId node = 0; node < nodes.size(); ++node) nodes[node].ForEachRead([&](ValueId id) { add(id, node); });
  });
  consumers.SortUnique();
  return consumers;
}

std::string Describe(const Graph& graph, NodeId node) { return Describe(graph.nodes[node], node); }

std::string Describe(const Node& node, NodeId number) {
  const std::string type = Printable(node.primitive.op_type());
  std::string text = node.name.empty() ? fmt::format("node {} ({})", number, type)
                                       : fmt::format("node '{}' ({})", Printable(node.name), type);
  if (node.source != nullptr) text += ", exported at " + Printable(*node.source);
  return text;
}

std::optional<ValueKind> CommonKind(ValueKind a, ValueKind b) {
  if (a == b) return a;
  if (HoldsSequence(a) != HoldsSequence(b)) return std::nullopt;
  return HoldsSequence(a) ? ValueKind::kOptionalSequence : ValueKind::kOptionalTensor;
}

ValueType CommonType(const ValueType& a, const ValueType& b) {
  ValueType common = a;
  common.kind = CommonKind(a.kind, b.kind).value_or(a.kind);
  common.ranked = a.ranked && b.ranked && a.dims.size() == b.dims.size();
  if (!common.ranked) common.dims.clear();
  for (size_t i = 0; i < common.dims.size(); ++i)
    if (a.dims[i] != b.dims[i]) common.dims[i] = kUnknownDim;
  return common;
}

Status CheckExtents(const ValueType& type) {
  if (type.dims.size() > kMostAxes)
    return Error(StatusCode::kModel, "has rank {}, expected at most {}", type.dims.size(), kMostAxes);
  if (CheckedPositiveProduct(type.dims)) return {};
  return Error(StatusCode::kModel, "shape {} has more than {} elements", ShapeToString(type.dims), kMostElements);
}

std::string Describe(const Graph& graph, const ValueType& type) {
  std::string text = IsOptional(type.kind) ? "optional " : "";
  if (HoldsSequence(type.kind)) text += "sequence of ";
  text += NameOf(type.dtype);
  if (!type.ranked) return text + " of unknown rank";
  text += " [";
  for (size_t i = 0; i < type.dims.size(); ++i) {
    if (i != 0) text += ",";
    const int64_t dim = type.dims[i];
    if (dim >= 0) {
      text += std::to_string(dim);
    } else {
      text += IsSymbol(dim) && SymbolIndex(dim) < graph.symbols.size() ? graph.symbols[SymbolIndex(dim)] : "?";
    }
  }
  return text + "]";
}

std::optional<FilePlace> Graph::FileOf(const Tensor& constant) const {
  const auto begin = static_cast<const uint8_t*>(constant.data()), end = begin + constant.byte_size();
  for (const MappedBytes& file : mapped)
    if (std::less_equal<>()(file.bytes.data(), begin) &&
        std::less_equal<>()(end, file.bytes.data() + file.bytes.size()))
      return FilePlace{file.descriptor, static_cast<uint64_t>(begin - file.bytes.data())};
  return std::nullopt;
}

void Graph::DropPages() const {
  for (const MappedBytes& file : mapped) host::DropPages(file.bytes);
}

std::string NodeName(const Graph& graph, NodeId node) {
  const std::string& name = graph.nodes[node].name;
  return name.empty() ? std::string(kUnnamedNode) + std::to_string(node) : name;
}

Graph Subgraph(const Graph& whole, std::span<const NodeId> nodes, std::span<const ValueId> inputs,
               std::span<const ValueId> outputs) {
  Graph graph;
  graph.name = whole.name;
  graph.symbols = whole.symbols;
  graph.mapped = whole.mapped;
  std::unordered_map<ValueId, ValueId> known;
  const auto take = [&](ValueId id) {
    if (id == kNone) return kNone;
    const auto [found, is_new] = known.try_emplace(id, static_cast<ValueId>(graph.values.size()));
    if (is_new) graph.values.push_back(whole.values[id]);
    return found->second;
  };
  for (const ValueId id : inputs)
    if (id != kNone) graph.captured.push_back(take(id));
  for (const NodeId id : nodes) {
    Node node = whole.nodes[id];
    for (ValueId& input : node.inputs) input = take(input);
    for (ValueId& output : node.outputs) output = take(output);
    for (Region& region : node.regions)
      for (ValueId& capture : region.captures) capture = take(capture);
    graph.nodes.push_back(std::move(node));
  }
  for (const ValueId id : outputs)
    if (id != kNone) graph.outputs.push_back(take(id));
  return graph;
}

}  // namespace deputy::host
