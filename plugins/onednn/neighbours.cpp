#include "neighbours.hpp"

#include <unordered_map>
#include <vector>

namespace onednn {
namespace {

// The values through which a node has neighbours.
std::vector<deputy_value_id> DataOf(const sdk::NodeView& node, const Operator& op) {
  std::vector<deputy_value_id> values;
  for (size_t i = 0; i < node.input_count() && i < op.data_inputs; ++i) {
    const sdk::ValueView value = node.input(i);
    if (value.exists() && !value.is_constant()) values.push_back(value.id());
  }
  for (size_t i = 0; i < node.output_count(); ++i)
    if (node.output(i).exists()) values.push_back(node.output(i).id());
  return values;
}

}  // namespace

std::unordered_set<deputy_node_id> MoversWorthTaking(const sdk::GraphView& graph,
                                                     const std::function<bool(const sdk::NodeView&)>& accepted) {
  struct Mover {
    deputy_node_id node;
    std::vector<deputy_value_id> values;
  };
  std::vector<Mover> movers;
  std::unordered_map<deputy_value_id, std::vector<size_t>> touching;  // movers by value
  std::vector<deputy_value_id> reached;
  for (size_t i = 0; i < graph.node_count(); ++i) {
    const sdk::NodeView node = graph.NodeAt(i);
    const Operator* op = FindOperator(node);
    if (op == nullptr || !node.offered() || !accepted(node)) continue;
    std::vector<deputy_value_id> values = DataOf(node, *op);
    if (!op->moves) {
      reached.insert(reached.end(), values.begin(), values.end());
      continue;
    }
    for (const deputy_value_id value : values) touching[value].push_back(movers.size());
    movers.push_back({node.id(), std::move(values)});
  }
  std::unordered_set<deputy_node_id> taken;
  while (!reached.empty()) {
    const deputy_value_id value = reached.back();
    reached.pop_back();
    for (const size_t at : touching[value])
      if (taken.insert(movers[at].node).second)
        reached.insert(reached.end(), movers[at].values.begin(), movers[at].values.end());
    touching.erase(value);
  }
  return taken;
}

}  // namespace onednn
