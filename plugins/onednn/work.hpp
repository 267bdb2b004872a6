// How much there is to do, roughly: to choose threads, and to tell what is not worth a call of oneDNN.
#pragma once

#include "program.hpp"

namespace onednn {

// About how many multiplications, or as much time in other things.
int64_t WorkOf(const Operation& operation, const Program& program);

// Does a program keep oneDNN busy long enough? A call of the partition and each of its steps cost something that
// kernels of the next delegate do not; `steps` of them may take up to half as long again as those would. `saved`: what
// Fuse returned, kernels that only the next delegate needs.
bool IsWorthCalling(const Program& program, size_t steps, size_t saved);

}  // namespace onednn
