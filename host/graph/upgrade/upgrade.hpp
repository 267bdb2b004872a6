// Brings nodes of older operator definitions into the newest form, so that inference and kernels know one form only,
// and finds the definition with which a node is presented to a plugin.
#pragma once

#include <cstdint>

#include "graph/graph.hpp"

namespace deputy::host {

// Rewrites every node, those in regions too, whose definition later had another form: attributes that became inputs,
// removed attributes. The node gets the since_version of the first definition of its new form, so that the oldest
// definition which means the same can still be found. A node that the newer form cannot express is
// kNotSupported, with the node and the reason; definitions whose form never changed keep their version. Attributes that
// later definitions added are dropped where they hold their defaults: a node that is presented to a plugin with an
// older definition has none that this definition lacks.
Status UpgradeGraph(Graph& graph);

// The since_version of the oldest definition that means the same for this node's attributes, inputs and element type:
// an fp32 convolution is Conv-1 though the newest is Conv-22. A plugin built against an old list is so offered all
// nodes that it understands, and none that it would compute wrongly. Unknown operators keep their version.
int32_t OldestEquivalent(const Graph& graph, const Node& node);

}  // namespace deputy::host
