#include "plan/partition_key.hpp"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "deputy/abi/base.h"
#include "graph/upgrade/upgrade.hpp"

namespace deputy::host {
namespace {

class KeyMaker {
 public:
  KeyMaker(const Graph& graph, std::string_view purpose, const Digest* model) : graph_(graph), model_(model) {
    digester_.AddText(purpose).AddNumber(DEPUTY_ABI_VERSION);
    if (model != nullptr) digester_.Add(*model);
  }

  Digester& digester() { return digester_; }

  Digest Make(const PartitionSpec& partition) {
    AddValues(partition.inputs);
    digester_.AddNumber(partition.nodes.size());
    for (const NodeId id : partition.nodes) AddNode(graph_.nodes[id]);
    AddValues(partition.outputs);
    return digester_.Finish();
  }

  Digest MakeWhole() {
    AddValues(graph_.captured);
    AddValues(graph_.inputs);
    digester_.AddNumber(graph_.nodes.size());
    for (const Node& node : graph_.nodes) {
      AddNode(node);
      digester_.AddNumber(node.regions.size());
      for (const Region& region : node.regions) {
        AddValues(region.captures);
        digester_.AddText(region.name).Add(GraphKey(*region.body));
      }
    }
    AddValues(graph_.outputs);
    return digester_.Finish();
  }

 private:
  void AddNode(const Node& node) {
    const auto bytes = node.primitive.bytes();
    digester_.AddNumber(static_cast<uint64_t>(OldestEquivalent(graph_, node)));
    digester_.AddNumber(bytes.size()).Add(bytes);
    AddValues(node.inputs);
    AddValues(node.outputs);
  }

  void AddValues(const std::vector<ValueId>& ids) {
    digester_.AddNumber(ids.size());
    for (const ValueId id : ids) AddValue(id);
  }

  // Values are numbered in the order of first use; each is described once.
  void AddValue(ValueId id) {
    if (id == kNone) {
      digester_.AddNumber(kNone);
      return;
    }
    const auto [found, added] = numbers_.try_emplace(id, numbers_.size());
    digester_.AddNumber(found->second);
    if (!added) return;
    const Value& value = graph_.values[id];
    digester_.AddNumber(static_cast<uint64_t>(value.type.dtype)).AddNumber(value.type.ranked ? 1 : 0);
    digester_.AddNumber(value.type.dims.size());
    // Symbols are internal to the host: a delegate sees only that an extent is dynamic.
    for (const int64_t dim : value.type.dims) digester_.AddNumber(static_cast<uint64_t>(std::max<int64_t>(dim, -1)));
    digester_.AddNumber(value.is_constant() ? 1 : 0);
    if (!value.is_constant()) return;
    const size_t size = value.constant.byte_size();
    digester_.AddNumber(size);
    if (model_ != nullptr && size > kLargeConstant && !value.name.empty())
      digester_.AddText(value.name);
    else
      digester_.Add({static_cast<const uint8_t*>(value.constant.data()), size});
  }

  static constexpr size_t kLargeConstant = 256;

  const Graph& graph_;
  const Digest* const model_;
  Digester digester_;
  std::unordered_map<ValueId, uint64_t> numbers_;
};

}  // namespace

Digest FaultKey(const Graph& graph, const PartitionSpec& partition) {
  return KeyMaker(graph, "deputy fault", nullptr).Make(partition);
}

Digest GraphKey(const Graph& graph) { return KeyMaker(graph, "deputy graph", nullptr).MakeWhole(); }

Digest PartitionKey(const Graph& graph, const PartitionSpec& partition, const DelegateIdentity& maker) {
  KeyMaker key(graph, "deputy blob", nullptr);
  Digester& digester = key.digester();
  for (const std::string* text :
       {&maker.plugin, &maker.version, &maker.build, &maker.delegate, &maker.device, &maker.driver})
    digester.AddText(*text);
  digester.AddNumber(maker.options.size());
  for (const auto& [name, value] : maker.options) digester.AddText(name).AddText(value);
  return key.Make(partition);
}

Digest VerdictKey(const Graph& graph, const PartitionSpec& partition, const Digest& delegate, const Digest* model) {
  KeyMaker key(graph, "deputy verdict", model);
  key.digester().Add(delegate);
  return key.Make(partition);
}

}  // namespace deputy::host
