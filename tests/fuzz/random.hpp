// Random choices of the mutators: reproducible from a seed, and the same on every platform.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

namespace deputy::fuzz {

// SplitMix64 (Steele, Lea and Flood, 2014).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    uint64_t mixed = state_ += 0x9e3779b97f4a7c15u;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
    return mixed ^ (mixed >> 31);
  }
  // Below `end`; 0 for an `end` of 0.
  size_t Below(size_t end) { return end == 0 ? 0 : static_cast<size_t>(Next() % end); }
  // True once in `times` on average.
  bool OneIn(size_t times) { return Below(times) == 0; }
  template <class List>
  auto& Of(List& list) {
    return *(std::begin(list) + static_cast<std::ptrdiff_t>(Below(std::size(list))));
  }

 private:
  uint64_t state_;
};

}  // namespace deputy::fuzz
