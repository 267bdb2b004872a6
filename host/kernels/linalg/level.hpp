// The instruction set of the linear algebra. The best one is selected at first use; tests and benchmarks may force
// another one to compare them.
#pragma once

namespace deputy::host::linalg {

enum class Level {
  kBaseline,
  kV3,
  kV4
};  // any CPU of the architecture; AVX2 with FMA and F16C; AVX-512 F, BW, CD, DQ, VL

constexpr const char* NameOf(Level level) {
  switch (level) {
    case Level::kBaseline: return "baseline";
    case Level::kV3: return "v3";
    case Level::kV4: return "v4";
  }
  return "unknown";
}

// True when this build contains the level and this CPU supports it.
bool Available(Level level);
Level ActiveLevel();
// Process-wide; false, without a change, when the level is not available. [any-thread, between products]
bool Select(Level level);

}  // namespace deputy::host::linalg
