// Common subexpressions: nodes with the same operator, attributes and inputs compute the same.
#pragma once

#include "graph/graph.hpp"

namespace deputy::host {

// Small constants of equal content count as one, such as the indices that exporters repeat for each Gather. A duplicate
// that makes an output of the graph stays.
void MergeDuplicates(Graph& graph);

}  // namespace deputy::host
