// Common subexpressions: nodes with the same operator, attributes and inputs compute the same.
#pragma once

#include "graph/graph.hpp"

namespace deputy::host {

// Constants of a few elements count as one when they have the same content, as the indices that exporters write anew
// for each Gather. A duplicate that makes an output of the graph stays.
void MergeDuplicates(Graph& graph);

}  // namespace deputy::host
