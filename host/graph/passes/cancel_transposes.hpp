// Transposes that follow one another become one or none; those behind which only element-wise nodes stand move behind
// them, where they may meet their inverse.
#pragma once

#include "graph/graph.hpp"

namespace deputy::host {

// Never leaves more Transposes than there were, and moves no value that somebody else reads before the node.
void CancelTransposes(Graph& graph);

}  // namespace deputy::host
