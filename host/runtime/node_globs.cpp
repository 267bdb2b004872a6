#include "runtime/node_globs.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/nearest.hpp"
#include "measure/decision.hpp"
#include "partition/eligibility.hpp"

namespace deputy::host {

std::vector<Setting<std::string>> NodeGlobs(const Config& config) {
  std::vector<Setting<std::string>> globs;
  const auto add = [&](const List<Setting<std::string>>& list) { globs.insert(globs.end(), list.begin(), list.end()); };
  for (const DelegateConfig& delegate : config.delegates) {
    if (!*delegate.enabled) continue;
    add(delegate.rules.nodes);
    add(delegate.rules.deny_nodes);
  }
  for (const PlacementRule& rule : config.placement.rules) add(rule.nodes);
  return globs;
}

std::vector<std::string> NamesOfNodes(const Graph& graph, bool unnamed) {
  std::vector<std::string> names;
  ForEachNode(graph, [&](const Graph& where, NodeId id, uint32_t) {
    if (unnamed || !where.nodes[id].name.empty()) names.push_back(NodeName(where, id));
  });
  return names;
}

std::string MatchesNoNode(const std::string& glob, const std::string& model, const std::vector<std::string>& placed,
                          const std::vector<std::string>& imported) {
  const std::string text = fmt::format("{} matches no node of {}", Quoted(glob), Quoted(model));
  const auto removed =
      std::find_if(imported.begin(), imported.end(), [&](const std::string& name) { return MatchesGlob(glob, name); });
  if (removed != imported.end())
    return fmt::format("{} after the passes, which removed {}: its result is constant, unused or computed elsewhere",
                       text, Quoted(*removed));
  if (glob.rfind(kUnnamedNode, 0) == 0)
    return fmt::format("{}; 'deputy partition --nodes' lists the names of unnamed nodes", text);
  // The number of an unnamed node is not a misspelling of another.
  std::vector<std::string> named;
  for (const std::string& name : placed)
    if (name.rfind(kUnnamedNode, 0) != 0) named.push_back(name);
  return text + DidYouMean(glob, named);
}

std::vector<Problem> UnmatchedGlobs(const std::vector<Setting<std::string>>& globs, const std::string& model,
                                    const std::vector<std::string>& placed, const std::vector<std::string>& imported) {
  std::vector<Problem> problems;
  for (const Setting<std::string>& glob : globs)
    if (std::none_of(placed.begin(), placed.end(), [&](const std::string& name) { return MatchesGlob(*glob, name); }))
      problems.push_back({glob.origin, MatchesNoNode(*glob, model, placed, imported), ProblemCode::kNoMatch});
  return problems;
}

}  // namespace deputy::host
