#include "origins.hpp"

#include <algorithm>
#include <set>

namespace onednn {

Origins::Origins(const Program& program) : makers_(program.value_count()) {
  for (const Operation& operation : program.operations())
    makers_[operation.output] = {operation.node, ReadBy(operation)};
}

std::vector<deputy_node_id> Origins::NodesOf(const Operation& operation, const Program& program) const {
  std::set<deputy_node_id> nodes;
  std::set<Value> seen;
  std::vector<Value> open = {operation.output};
  while (!open.empty()) {
    const Value value = open.back();
    open.pop_back();
    // The nodes of constants that fusion made are visited anyway.
    if (value >= makers_.size() || !makers_[value].node || !seen.insert(value).second) continue;
    nodes.insert(*makers_[value].node);
    for (const Value read : makers_[value].reads)
      if (program.ProducerOf(read) == kNoValue) open.push_back(read);
  }
  return {nodes.begin(), nodes.end()};
}

bool Origins::Reads(deputy_node_id node, Value value) const {
  return std::any_of(makers_.begin(), makers_.end(), [&](const Maker& maker) {
    return maker.node == node && std::find(maker.reads.begin(), maker.reads.end(), value) != maker.reads.end();
  });
}

}  // namespace onednn
