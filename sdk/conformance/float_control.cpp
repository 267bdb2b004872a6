#include "float_control.hpp"

#include <fenv.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace deputy::conformance {

uint64_t FloatControl() {
  uint64_t control = static_cast<uint64_t>(fegetround());
#if defined(__x86_64__)
  control |= static_cast<uint64_t>(_mm_getcsr() & ~0x3fu) << 32;
#endif
  return control;
}

void RestoreFloatControl(uint64_t control) {
  fesetround(static_cast<int>(control & 0xffffffffu));
#if defined(__x86_64__)
  _mm_setcsr(static_cast<unsigned>(control >> 32));
#endif
}

std::string FloatChanges(uint64_t before, uint64_t after) {
  constexpr uint64_t kFlush = uint64_t{0x8040} << 32, kRounding = (uint64_t{0x6000} << 32) | 0xffffffffu;
  const uint64_t changed = before ^ after;
  std::string text;
  const auto add = [&](uint64_t bits, const char* name) {
    if ((changed & bits) != 0) text += (text.empty() ? "" : ", ") + std::string(name);
  };
  add(kFlush, "flushing of subnormal numbers to zero");
  add(kRounding, "rounding");
  add(~(kFlush | kRounding), "traps");
  return text;
}

}  // namespace deputy::conformance
