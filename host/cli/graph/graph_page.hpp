// The placement of a model as one HTML page: the graph, drawn and searched by the scripts of host/cli/page, with
// everything that is known about each node. The page needs no other file and no network.
#pragma once

#include <string>

#include "cli/measure/measured_run.hpp"
#include "deputy/placed_graph.hpp"

namespace deputy::cli {

// `measured` is null where nothing was run. Names and texts of the model are data in the page, never markup or script.
std::string GraphPage(const std::string& model, const PlacedGraph& graph, const MeasuredRun* measured);

}  // namespace deputy::cli
