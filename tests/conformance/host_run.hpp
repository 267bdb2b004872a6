// A model of one node, computed by the host's own kernels through the public API.
#pragma once

#include <cstdint>
#include <vector>

#include "case.hpp"
#include "deputy/deputy.hpp"

namespace deputy::conformance {

// A context of the CPU's kernels alone.
Result<::deputy::Context> KernelContext();

// The outputs of the ONNX model in `file`, which is that of the case.
Result<std::vector<reference::Tensor>> RunOnHost(::deputy::Context& context, const Case& tested,
                                                 const std::vector<uint8_t>& file);

}  // namespace deputy::conformance
