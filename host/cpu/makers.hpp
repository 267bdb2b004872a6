// Declares Make<Operator> for every operator of the list; each is defined in the file of its family. The executor runs
// regions (If), and Constant never remains after import: their makers return errors that say so.
#pragma once

#include "cpu/kernel.hpp"

namespace deputy::host {

#define DEPUTY_OPERATOR_BEGIN(name, ...) KernelResult Make##name(const KernelSpec& spec);
#include "schema/operators.inc"

}  // namespace deputy::host
