// Globs of node names in the rules of a configuration, and those of them that match no node of a model. Rules see the
// graph after the passes, in which an unnamed node is called as reports call it (NodeName).
#pragma once

#include <string>
#include <vector>

#include "config/config.hpp"
#include "graph/graph.hpp"

namespace deputy::host {

// Of the rules of all enabled delegates and of `placement: {rules}`.
std::vector<Setting<std::string>> NodeGlobs(const Config& config);

// Names of all nodes, those of regions included; without those that have no name of their own unless `unnamed`.
std::vector<std::string> NamesOfNodes(const Graph& graph, bool unnamed);

// A glob that matches none of `placed`, the names of the graph after the passes: the message. `imported` are the names
// before the passes, without unnamed nodes.
std::string MatchesNoNode(const std::string& glob, const std::string& model, const std::vector<std::string>& placed,
                          const std::vector<std::string>& imported);

// One problem for each such glob.
std::vector<Problem> UnmatchedGlobs(const std::vector<Setting<std::string>>& globs, const std::string& model,
                                    const std::vector<std::string>& placed, const std::vector<std::string>& imported);

}  // namespace deputy::host
