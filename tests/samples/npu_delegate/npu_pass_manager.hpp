// Layout: the model's images have their channels first, the device's last. The passes put transposes around operators
// that need them, move them past operators that do not care, and cancel those that meet their opposite.
#pragma once

#include <memory>
#include <vector>

#include "npu_op.hpp"

// An operator stands behind those whose results it reads.
using NPUOps = std::vector<std::unique_ptr<NPUOp>>;

class NPUPassManager {
 public:
  // `outputs` are the values that others read; they keep their numbers and the model's layout.
  void Run(NPUOps* ops, const std::vector<ValueId>& outputs);

  size_t inserted() const { return inserted_; }  // transposes by the first pass
  size_t left() const { return left_; }          // when all passes were over

 private:
  void InsertTransposes(NPUOps* ops);
  bool MovePastElementwise(NPUOps* ops);
  bool CancelPairs(NPUOps* ops);
  void DropUnread(NPUOps* ops, const std::vector<ValueId>& outputs);

  ValueId next_ = 0x80000000u;  // numbers for values of the passes' own
  size_t inserted_ = 0, left_ = 0;
};
