// Rewrites a program so that fewer and larger primitives do the same. Nothing that somebody outside reads, or that is
// read twice, disappears.
#pragma once

#include "program.hpp"

namespace onednn {

// All of what follows, in the order in which one prepares the next. Returns how many operations fewer the functions are
// that were written out.
size_t Fuse(Program& program);

// Functions that were written out: layer normalization, GELU, Swish, HardSwish, Mish.
void FindFunctions(Program& program);
// Multiplications and additions per channel, into the weights and bias before them.
void FoldIntoWeights(Program& program);
// What follows a primitive and can be done while its result is in registers.
void AttachPostOps(Program& program);
// Integers around a primitive, which then works on them.
void UseIntegers(Program& program);
// Transposed results and zeros around an input, which primitives can read and write as such.
void AbsorbMovement(Program& program);

// The operation of this kind that makes `value`, if nobody else reads that; NULL otherwise.
template <class Kind>
const Kind* MadeOnlyHere(const Program& program, Value value, size_t* index = nullptr) {
  const size_t producer = program.ProducerOf(value);
  if (producer == kNoValue || program.UsesOf(value) != 1) return nullptr;
  if (index != nullptr) *index = producer;
  return program.operations()[producer].As<Kind>();
}

}  // namespace onednn
