// Nodes whose output equals their input: Identity, Dropout without training, a Cast to the same type, a Reshape to the
// same shape, a product with 1, and pairs that undo each other, such as Unsqueeze and Squeeze.
#pragma once

#include "graph/graph.hpp"

namespace deputy::host {

// Exact: every element keeps its bits. So x + 0 stays, which makes +0 of -0; x + (-0) and x - 0 are dropped.
void DropIdentities(Graph& graph);

}  // namespace deputy::host
