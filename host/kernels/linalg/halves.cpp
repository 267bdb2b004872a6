#include "kernels/linalg/halves.hpp"

#include "kernels/linalg/module.hpp"

namespace deputy::host::linalg {

bool WidenHalves(const uint16_t* x, int64_t count, float* y) {
  const auto widen = ActiveModule().halves.widen;
  if (widen != nullptr) widen(x, count, y);
  return widen != nullptr;
}

bool NarrowToHalves(const float* x, int64_t count, uint16_t* y) {
  const auto narrow = ActiveModule().halves.narrow;
  if (narrow != nullptr) narrow(x, count, y);
  return narrow != nullptr;
}

}  // namespace deputy::host::linalg
