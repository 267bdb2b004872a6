// Memory of a size that a model requests, which may be any number.
#pragma once

#include "base/aligned.hpp"

namespace deputy::host {

// Bytes of memory that this machine has; the system may end the process when it touches more, even if promised.
size_t MachineMemory();

// AllocateAligned; also null for more than the machine has.
AlignedBytes AllocateWithinMachine(size_t bytes);

}  // namespace deputy::host
