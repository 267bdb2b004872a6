// Brings nodes of older operator definitions into the newest form, so that inference and kernels know one form only.
#pragma once

#include "graph/graph.hpp"

namespace deputy::host {

// Rewrites every node, those in regions too, whose definition later had another form: attributes that became inputs,
// removed attributes. The node gets the since_version of the first definition of its new form, so that the oldest
// definition which means the same can still be found (oldest.hpp). A node that the newer form cannot express is
// kNotSupported, with the node and the reason; definitions whose form never changed keep their version.
Status UpgradeGraph(Graph& graph);

}  // namespace deputy::host
