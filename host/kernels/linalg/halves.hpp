// Conversion between half precision and float32 by the instructions that some levels have.
#pragma once

#include <cstdint>

namespace deputy::host::linalg {

// False, with nothing written, if the active level has none; the caller's own loop then does it. Both round to nearest
// even. [any-thread]
bool WidenHalves(const uint16_t* x, int64_t count, float* y);
bool NarrowToHalves(const float* x, int64_t count, uint16_t* y);

}  // namespace deputy::host::linalg
