// The extents at the border of a partition, as it was compiled for them, and what has to happen when they change.
#pragma once

#include <vector>

#include "layout.hpp"

namespace onednn {

class Shapes {
 public:
  Shapes() = default;
  explicit Shapes(const sdk::PartitionView& partition);

  // kDone when nothing changes. Primitives are made for their extents, so that others need a compile, which finds the
  // packed weights where they are.
  sdk::Result<sdk::ResizeOutcome> Answer(const sdk::ResizeArgs& wanted) const;

 private:
  std::vector<memory::dims> inputs_, outputs_;
  // With the same extents at the inputs all others are the same. Not so where an operand that is no constant steers
  // them, as the second of a Reshape does: then extents inside may change and none at the border.
  bool decided_by_inputs_ = true;
};

}  // namespace onednn
