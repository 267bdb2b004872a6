// One run of an execution that the verification makes, with tensors in and out.
#pragma once

#include <vector>

#include "execute/execution.hpp"

namespace deputy::host {

// `inputs` in the order of the graph's captures.
Status RunWith(Execution& execution, const std::vector<Tensor>& inputs, const CancellationToken& token);

// Copies of the graph's outputs, after a run.
Result<std::vector<Tensor>> OutputsOf(const Execution& execution);

}  // namespace deputy::host
