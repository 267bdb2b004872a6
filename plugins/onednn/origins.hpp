// The nodes of the model that a primitive computes. Fusion joins operations and removes those in between; a primitive's
// nodes are all nodes between its result and the next results that still exist.
#pragma once

#include <vector>

#include "program.hpp"

namespace onednn {

class Origins {
 public:
  Origins() = default;
  // Remembers the program as it was read, before anything is fused.
  explicit Origins(const Program& program);

  // Ascending. `operation` is one of the same program after fusion; two operations may share a node.
  std::vector<deputy_node_id> NodesOf(const Operation& operation, const Program& program) const;
  // Does the node read the value itself?
  bool Reads(deputy_node_id node, Value value) const;

 private:
  struct Maker {
    std::optional<deputy_node_id> node;  // none: an input or a constant
    std::vector<Value> reads;
  };
  std::vector<Maker> makers_;  // by value
};

}  // namespace onednn
