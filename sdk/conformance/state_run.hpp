// What outlives its run, of one case or model: buffers that move and buffers that stay, contexts in turns and at once,
// equal nodes with other constants, failed runs, contexts that end while others run, compilation beside runs and in the
// midst of them, and memory that runs lose.
#pragma once

#include "probing/subject.hpp"
#include "test.hpp"

namespace deputy::conformance {

// False where the delegate does not take the nodes. `wholly`: all kinds of other constants, and not only the first.
bool TryState(TestRun& run, Instance& instance, const Subject& subject, bool wholly);

// Only contexts at once, and other constants: for subjects with much data.
void TryAtOnce(TestRun& run, Instance& instance, const Subject& subject);

// Only runs that end in their middle, each with other data behind it: for cases with much data.
void TryEnded(TestRun& run, Instance& instance, const Case& tested);

}  // namespace deputy::conformance
