// The support matrix: the verdict of each delegate for each node that it may have, whichever delegate gets the node.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "delegate/delegate.hpp"

namespace deputy::host {

class SupportMatrix {
 public:
  struct Row {
    std::vector<Verdict> verdicts;  // per node; kNotAnswered for nodes that were not offered
    bool answered = true;           // false: the query failed; all offered nodes have its message
  };

  // The delegate is queried at the first call for a graph, about the nodes offered then; later views of the same graph
  // must not offer more. A failed query is logged.
  const Row& Of(Delegate& delegate, const GraphView& view);

 private:
  std::map<std::pair<const Graph*, const Delegate*>, Row> rows_;
};

}  // namespace deputy::host
