// Selects the nodes to accept among those that only move elements: neighbours of a computed node of this delegate,
// directly or through other such nodes. Alone they would cost a copy where the host has a view.
#pragma once

#include <functional>
#include <unordered_set>

#include "operators/operators.hpp"

namespace onednn {

// The nodes that only move elements, that `accepted` accepts and that have such a neighbour.
std::unordered_set<deputy_node_id> MoversWorthTaking(const sdk::GraphView& graph,
                                                     const std::function<bool(const sdk::NodeView&)>& accepted);

}  // namespace onednn
