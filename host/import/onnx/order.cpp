#include "import/onnx/order.hpp"

#include <algorithm>
#include <functional>
#include <memory_resource>
#include <numeric>
#include <queue>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "base/function_ref.hpp"
#include "base/printable.hpp"
#include "import/onnx/frame.hpp"

namespace deputy::host::onnx_import {
namespace {

// Calls fn(name) for the names that a graph reads but does not produce. Depth was bounded when the file was condensed.
void ForEachFreeName(const pb::GraphProto& graph, FunctionRef<void(std::string_view)> fn);

void ForEachRead(const pb::NodeProto& node, FunctionRef<void(std::string_view)> fn) {
  for (const std::string& name : node.input())
    if (!name.empty()) fn(name);
  for (const pb::AttributeProto& attribute : node.attribute())
    if (attribute.has_g()) ForEachFreeName(attribute.g(), fn);
}

void ForEachFreeName(const pb::GraphProto& graph, FunctionRef<void(std::string_view)> fn) {
  std::unordered_set<std::string_view> own;
  for (const pb::ValueInfoProto& value : graph.input()) own.insert(value.name());
  for (const pb::TensorProto& tensor : graph.initializer()) own.insert(tensor.name());
  for (const pb::NodeProto& node : graph.node())
    for (const std::string& name : node.output()) own.insert(name);
  const auto read = [&](std::string_view name) {
    if (own.count(name) == 0) fn(name);
  };
  for (const pb::NodeProto& node : graph.node()) ForEachRead(node, read);
  for (const pb::ValueInfoProto& value : graph.output()) read(value.name());
}

class Sorter {
 public:
  explicit Sorter(const Nodes& nodes) : nodes_(nodes), waiting_(static_cast<size_t>(nodes.size()), 0) {}

  Result<std::vector<int>> Run() {
    DEPUTY_ASSIGN_OR_RETURN(const bool in_order, FindProducers());
    if (in_order) {
      std::vector<int> order(waiting_.size());
      std::iota(order.begin(), order.end(), 0);
      return order;
    }
    std::vector<std::vector<int>> readers(waiting_.size());
    for (int i = 0; i < nodes_.size(); ++i)
      ForEachRead(nodes_[i], [&](std::string_view name) {
        const auto producer = producer_.find(name);
        if (producer == producer_.end()) return;
        readers[static_cast<size_t>(producer->second)].push_back(i);
        ++waiting_[static_cast<size_t>(i)];
      });
    // The smallest index first: nodes that are already in order keep it.
    std::priority_queue<int, std::vector<int>, std::greater<>> ready;
    for (int i = 0; i < nodes_.size(); ++i)
      if (waiting_[static_cast<size_t>(i)] == 0) ready.push(i);
    std::vector<int> order;
    while (!ready.empty()) {
      const int node = ready.top();
      ready.pop();
      order.push_back(node);
      for (const int reader : readers[static_cast<size_t>(node)])
        if (--waiting_[static_cast<size_t>(reader)] == 0) ready.push(reader);
    }
    if (order.size() != waiting_.size()) return Cycle();
    return order;
  }

 private:
  // Whether the nodes are in order already. Most files are: ONNX requires it.
  Result<bool> FindProducers() {
    producer_.reserve(waiting_.size());
    bool in_order = true;
    std::vector<std::string_view> not_yet;  // names that no earlier node produces
    for (int i = 0; i < nodes_.size(); ++i) {
      ForEachRead(nodes_[i], [&](std::string_view name) {
        if (producer_.find(name) == producer_.end()) not_yet.push_back(name);
      });
      for (const std::string& name : nodes_[i].output()) {
        if (name.empty()) continue;
        const auto [other, added] = producer_.emplace(name, i);
        if (added) continue;
        if (!IsConstant(nodes_[i]) || !IsConstant(nodes_[other->second]))
          return Error(StatusCode::kModel, "'{}' is produced by {} and by {}", Printable(name),
                       Describe(nodes_[other->second], other->second), Describe(nodes_[i], i));
        other->second = i;  // the last one counts
        in_order = false;
      }
    }
    return in_order && std::none_of(not_yet.begin(), not_yet.end(),
                                    [&](std::string_view name) { return producer_.find(name) != producer_.end(); });
  }

  // A node was not reached; neither was a producer of its inputs, and so on until a node repeats.
  Status Cycle() const {
    int node = 0;
    while (waiting_[static_cast<size_t>(node)] == 0) ++node;
    std::vector<int> path;
    std::unordered_map<int, size_t> at;
    while (at.emplace(node, path.size()).second) {
      path.push_back(node);
      int before = node;
      ForEachRead(nodes_[node], [&](std::string_view name) {
        const auto producer = producer_.find(name);
        if (producer != producer_.end() && waiting_[static_cast<size_t>(producer->second)] != 0)
          before = producer->second;
      });
      node = before;
    }
    path.erase(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(at[node]));
    std::reverse(path.begin(), path.end());
    std::string text;
    constexpr size_t kMost = 8;
    for (size_t i = 0; i < std::min(path.size(), kMost); ++i) text += Describe(nodes_[path[i]], path[i]) + " -> ";
    if (path.size() > kMost) text += "... -> ";
    return Error(StatusCode::kModel, "nodes form a cycle: {}{}", text, Describe(nodes_[path[0]], path[0]));
  }

  const Nodes& nodes_;
  std::pmr::monotonic_buffer_resource memory_;  // of the map: freed at once
  std::pmr::unordered_map<std::string_view, int> producer_{&memory_};
  std::vector<size_t> waiting_;  // number of reads whose producer was not visited yet
};

}  // namespace

std::string Describe(const pb::NodeProto& node, int index) {
  const std::string op = Printable(node.op_type());
  std::string text = node.name().empty() ? fmt::format("node {} ({})", index, op)
                                         : fmt::format("node '{}' ({})", Printable(node.name()), op);
  if (!node.doc_string().empty()) text += ", exported at " + Printable(node.doc_string());
  return text;
}

bool IsConstant(const pb::NodeProto& node) {
  return NormalDomain(node.domain()).empty() && node.op_type() == "Constant";
}

Result<std::vector<int>> TopologicalOrder(const Nodes& nodes) { return Sorter(nodes).Run(); }

}  // namespace deputy::host::onnx_import
