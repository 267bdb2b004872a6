// The definition with which a node is presented to a plugin.
#pragma once

#include <cstdint>

#include "graph/graph.hpp"

namespace deputy::host {

// The since_version of the oldest definition that means the same for this node's attributes, inputs and element type:
// an fp32 convolution is Conv-1 though the newest is Conv-22. A plugin built against an old list is so offered all
// nodes that it understands, and none that it would compute wrongly. Unknown operators keep their version.
int32_t OldestEquivalent(const Graph& graph, const Node& node);

}  // namespace deputy::host
