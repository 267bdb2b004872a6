// The support matrix: what each delegate says of each node that it may have, whichever delegate gets the node.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "delegate/delegate.hpp"

namespace deputy::host {

class SupportMatrix {
 public:
  struct Row {
    std::vector<Verdict> verdicts;  // per node; kNotAnswered for nodes that were not on offer
    bool answered = true;           // false: the query failed, and all nodes on offer have its message
  };

  // The delegate is asked at the first call for a graph, about the nodes on offer then; later views of the same graph
  // must not offer more. A failed query is logged.
  const Row& Of(Delegate& delegate, const GraphView& view);

 private:
  std::map<std::pair<const Graph*, const Delegate*>, Row> rows_;
};

}  // namespace deputy::host
