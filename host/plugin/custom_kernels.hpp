// Kernels that a plugin brings for operators of its own, as a delegate of the host: one node each, on the CPU, behind
// all delegates that could take the node.
#pragma once

#include <memory>

#include "delegate/delegate.hpp"
#include "plugin/own_operator_table.hpp"

namespace deputy::host {

// "<name> kernels". `table` has kernels.
std::shared_ptr<Delegate> MakeOwnKernels(std::shared_ptr<const OwnOperatorTable> table);

}  // namespace deputy::host
