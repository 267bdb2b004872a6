// Random choices of the mutators: reproducible from a seed, and the same on every platform.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <random>

namespace deputy::fuzz {

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}

  uint64_t Next() { return engine_(); }
  // Below `end`; 0 for an `end` of 0.
  size_t Below(size_t end) { return end == 0 ? 0 : static_cast<size_t>(Next() % end); }
  // True once in `times` on average.
  bool OneIn(size_t times) { return Below(times) == 0; }
  template <class List>
  auto& Of(List& list) {
    return *(std::begin(list) + static_cast<std::ptrdiff_t>(Below(std::size(list))));
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace deputy::fuzz
