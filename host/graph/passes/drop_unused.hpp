// Dead code: nodes whose outputs are unused, and constants without readers.
#pragma once

#include "graph/graph.hpp"

namespace deputy::host {

// One walk from the end; regions of the nodes are not changed.
void DropUnused(Graph& graph);

}  // namespace deputy::host
