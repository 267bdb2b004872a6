// Which nodes that only move elements are worth taking: those beside something that is computed here, directly or
// through others of their kind. Alone they would cost a copy where the host has a view.
#pragma once

#include <functional>
#include <unordered_set>

#include "operators/operators.hpp"

namespace onednn {

// The nodes that only move elements, that `accepted` accepts and that have such a neighbour.
std::unordered_set<deputy_node_id> MoversWorthTaking(const sdk::GraphView& graph,
                                                     const std::function<bool(const sdk::NodeView&)>& accepted);

}  // namespace onednn
