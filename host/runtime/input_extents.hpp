// Other extents for the inputs of a model than those that its file fixes.
#pragma once

#include "deputy/model.hpp"
#include "graph/graph.hpp"

namespace deputy::host {

// Extents that the graph fixes become those of `shapes`, -1 makes them unknown; extents that are dynamic stay so. If
// one changes, the extents of all other values are unknown from then on: those in the file belong to the extents in the
// file. Returns the inputs that changed, as in "'image' is [1,3,224,224] in the file"; empty if none did.
// kInvalidArgument for an unknown input, one named twice, one that is not a tensor, or another rank.
Result<std::string> ChangeInputExtents(Graph& graph, const NamedShapes& shapes);

// Makes the extents of all values unknown but those of inputs and constants, in regions too.
void ForgetExtents(Graph& graph);

}  // namespace deputy::host
