#include "kernels/linalg/elements.hpp"

#include "kernels/linalg/module.hpp"

namespace deputy::host::linalg {

void Truncate(const float* x, int64_t count, int32_t* y) { ActiveModule().elements.truncate(x, count, y); }
void Quantize(const float* x, int64_t count, float scale, ByteRange range, uint8_t* y) {
  ActiveModule().elements.quantize(x, count, scale, range, y);
}
void Requantize(const int32_t* x, int64_t count, const float* multipliers, int64_t step, ByteRange range, uint8_t* y) {
  ActiveModule().elements.requantize(x, count, multipliers, step, range, y);
}

}  // namespace deputy::host::linalg
