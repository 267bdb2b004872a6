// Dead code: nodes none of whose outputs anybody needs, and constants that nobody reads.
#pragma once

#include "graph/graph.hpp"

namespace deputy::host {

// One walk from the end; regions of the nodes are left as they are.
void DropUnused(Graph& graph);

}  // namespace deputy::host
