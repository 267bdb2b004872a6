// Consecutive Transposes become one or none; those followed only by elementwise nodes move behind these, where they may
// meet their inverse.
#pragma once

#include "graph/graph.hpp"

namespace deputy::host {

// Never leaves more Transposes than there were, and moves no value before the node that has another reader.
void CancelTransposes(Graph& graph);

}  // namespace deputy::host
