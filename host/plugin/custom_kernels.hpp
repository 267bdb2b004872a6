// Custom-operator kernels of a plugin, as a delegate of the host: one node each, on the CPU, after all delegates that
// may support the node.
#pragma once

#include <memory>

#include "delegate/delegate.hpp"
#include "plugin/own_operator_table.hpp"

namespace deputy::host {

// "<name> kernels". `table` has kernels.
std::shared_ptr<Delegate> MakeOwnKernels(std::shared_ptr<const OwnOperatorTable> table);

}  // namespace deputy::host
