// Memory of a size that a model asks for, which may be any number.
#pragma once

#include "base/aligned.hpp"

namespace deputy::host {

// Bytes of memory that this machine has; what the system promises beyond it may end the process when it is touched.
size_t MachineMemory();

// AllocateAligned; null as well for more than the machine has.
AlignedBytes AllocateWithinMachine(size_t bytes);

}  // namespace deputy::host
