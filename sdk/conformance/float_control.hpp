// The modes of floating point of a thread: rounding, flushing of subnormal numbers, and traps. Flags of past exceptions
// are none of them.
#pragma once

#include <cstdint>
#include <string>

namespace deputy::conformance {

uint64_t FloatControl();
void RestoreFloatControl(uint64_t control);
// "flushing of subnormal numbers to zero, rounding"; "" for equal modes.
std::string FloatChanges(uint64_t before, uint64_t after);

}  // namespace deputy::conformance
