// The extents of a partition's inputs and outputs for which it was compiled, and the response to a change.
#pragma once

#include <vector>

#include "layout.hpp"

namespace onednn {

class Shapes {
 public:
  Shapes() = default;
  explicit Shapes(const sdk::PartitionView& partition);

  // kDone when nothing changes. Primitives are made for their extents, so that other extents need a compile, which
  // reuses the packed weights.
  sdk::Result<sdk::ResizeOutcome> Answer(const sdk::ResizeArgs& wanted) const;

 private:
  std::vector<memory::dims> inputs_, outputs_;
  // Equal extents of the inputs imply that all others are equal. False where an operand that is no constant determines
  // extents, such as the second of a Reshape: then extents inside may change and none of the inputs and outputs.
  bool decided_by_inputs_ = true;
};

}  // namespace onednn
