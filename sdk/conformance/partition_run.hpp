// The partitions that a delegate forms in a model, each compiled as one and compared with the oracle.
#pragma once

#include <string>

#include "case_run.hpp"
#include "test.hpp"

namespace deputy::conformance {

// Compiles all partitions of the graph, then runs each of them twice; failures are about `label`. With `reversed` the
// inputs and outputs are bound in another order than that in which they are read and made. Returns the number of
// partitions with several nodes.
size_t RunPartitions(TestRun& run, Instance& instance, const std::string& label, const ModelGraph& shown,
                     bool reversed = false);

}  // namespace deputy::conformance
