// Finds the nodes of a graph that Deputy runs, and builds Deputy's models of them.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "deputy/model.hpp"
#include "deputy/status.hpp"
#include "graph.hpp"
#include "settings.hpp"
#include "subsets.hpp"

namespace ort_ep {

// A node that ONNX Runtime keeps.
struct LeftNode {
  std::string name, op_type, reason;
  bool is_assigned = false;  // to another provider before
};

struct Claims {
  std::vector<std::vector<size_t>> subsets;  // of Graph::nodes; each becomes one node
  std::vector<LeftNode> left;
};

// One thread at a time.
class Planner {
 public:
  // `gives_captured`: whether a fused node gets the values that only subgraphs of its nodes read.
  Planner(Deputy deputy, bool gives_captured) : deputy_(std::move(deputy)), gives_captured_(gives_captured) {}

  const Deputy& deputy() const { return deputy_; }

  // Every subset was built as a model, so that what Deputy refuses is left to ONNX Runtime.
  deputy::Result<Claims> Claim(const Graph& graph);
  // The model of all nodes of the graph: the one that a claim has built, or a new one.
  deputy::Result<deputy::Model> ModelOf(const Graph& graph);
  // Forgets models that claims have built.
  void Clear() { models_.clear(); }

 private:
  // Of one graph while claims are made.
  struct Search {
    const Graph& graph;
    Readers readers;
    std::vector<bool> is_taken;
    std::vector<std::string> reasons;  // why a node is not taken
    void Leave(size_t node, const std::string& reason) {
      is_taken[node] = false;
      if (reasons[node].empty()) reasons[node] = reason;
    }
  };

  deputy::Result<Search> Begin(const Graph& graph) const;
  deputy::Result<deputy::Model> Build(const Graph& graph, const std::vector<size_t>& nodes, bool for_placing);
  // Removes nodes until all subsets of the rest can be built.
  std::vector<std::vector<size_t>> Buildable(Search& search, bool for_placing);
  void LeaveWrong(Search& search, const std::vector<size_t>& subset, const deputy::Status& failure, bool for_placing);
  // Removes the nodes that no delegate runs; true if there were any. `owned`: nodes that a delegate runs.
  bool LeaveCpuNodes(Search& search, const std::vector<size_t>& subset, bool for_placing, std::vector<bool>& owned);

  Deputy deputy_;
  const bool gives_captured_;
  std::set<std::string> recent_;  // keys that Build got since Buildable last formed subsets; a claim keeps their models
  std::map<std::string, deputy::Model> models_;  // by "r" and key; by "p" and key with Deputy::placing
};

// The placement for the model's own extents, or for some extents in place of the dynamic dimensions: the first of a few
// choices for which all shapes can be inferred.
deputy::Result<deputy::PlacementReport> PlacementOf(const deputy::Model& model);

}  // namespace ort_ep
