// The stream of numbers behind a random model: the same for a seed on every machine and with every standard library,
// whose own distributions differ.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace deputy::conformance {

// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
class RandomSource {
 public:
  explicit RandomSource(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // Both limits are possible.
  int64_t Between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(Next() % (static_cast<uint64_t>(high - low) + 1));
  }
  // True once in `times`.
  bool Once(uint64_t times) { return Next() % times == 0; }
  bool Half() { return Once(2); }
  template <class T>
  T Pick(const std::vector<T>& choices) {
    return choices[static_cast<size_t>(Next() % choices.size())];
  }
  template <class T>
  void Shuffle(std::vector<T>& list) {
    for (size_t i = list.size(); i > 1; --i) std::swap(list[i - 1], list[static_cast<size_t>(Next() % i)]);
  }

 private:
  uint64_t state_;
};

}  // namespace deputy::conformance
