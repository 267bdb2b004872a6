// Rewrites a program so that fewer and larger primitives compute the same. A value that is read outside of the
// partition, or twice, stays.
#pragma once

#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "program.hpp"

namespace onednn {

// All of the passes below, in the order in which one prepares the next. Returns the number of operations saved by the
// functions that were found.
size_t Fuse(Program& program);

// Functions that the model composes of several operators: layer normalization, GELU, Swish, HardSwish, Mish.
void FindFunctions(Program& program);
// Multiplications and additions per channel, into the weights and bias before them.
void FoldIntoWeights(Program& program);
// Operations that follow a primitive and can be computed while its result is in registers.
void AttachPostOps(Program& program);
// Integers around a primitive, which then works on them.
void UseIntegers(Program& program);
// Transposed results and zeros around an input, which primitives can read and write as such.
void AbsorbMovement(Program& program);

// The operation of this kind that makes `value`, if the value has one reader; NULL otherwise.
template <class Kind>
const Kind* MadeOnlyHere(const Program& program, Value value, size_t* index = nullptr) {
  const size_t producer = program.ProducerOf(value);
  if (producer == kNoValue || program.UsesOf(value) != 1) return nullptr;
  if (index != nullptr) *index = producer;
  return program.operations()[producer].As<Kind>();
}

// The nodes of the model that a primitive computes. Fusion joins operations and removes those in between; a primitive's
// nodes are all nodes between its result and the next results that still exist.
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
  std::unordered_map<deputy_node_id, std::set<Value>> reads_of_;
};

}  // namespace onednn
