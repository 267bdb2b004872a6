// Rough estimates of work: to choose threads, and to reject partitions that are not worth a call of oneDNN.
#pragma once

#include "program.hpp"

namespace onednn {

// About how many multiplications, or other work of the same time.
int64_t WorkOf(const Operation& operation, const Program& program);

// Does a program keep oneDNN busy long enough? A call of the partition and each of its `steps` have an overhead that
// kernels of the next delegate do not have; the total may be up to half as long again as theirs. `saved`: the result of
// Fuse, kernels that only the next delegate needs.
bool IsWorthCalling(const Program& program, size_t steps, size_t saved);

}  // namespace onednn
