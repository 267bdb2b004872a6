// Half precision from and to float32 by the instructions that some levels have for it.
#pragma once

#include <cstdint>

namespace deputy::host::linalg {

// False, with nothing written, where the active level has none; the caller's own loop then does it. Rounds to nearest
// even, as that does. [any-thread]
bool WidenHalves(const uint16_t* x, int64_t count, float* y);
bool NarrowToHalves(const float* x, int64_t count, uint16_t* y);

}  // namespace deputy::host::linalg
