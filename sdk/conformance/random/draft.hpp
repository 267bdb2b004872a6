// A random node under construction: its definition, random values and shapes, and the inputs and attributes so far. All
// choices are valid by construction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "case.hpp"
#include "definitions.hpp"

namespace deputy::conformance {

// The stream of numbers behind a random model: the same for a seed on every machine and with every standard library,
// whose own distributions differ.
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

class Draft : public RandomSource {
 public:
  Draft(const OperatorFacts& facts, uint64_t seed);

  int32_t since() const { return tested_.node.since_version; }
  const std::string& op_type() const { return tested_.node.op_type; }
  // Whether the definition has the attribute.
  bool Has(const std::string& attribute) const;

  // An element type of the definition's main variable; a float type of it; any type of tensors of that time.
  deputy_dtype Type();
  deputy_dtype RealType();
  deputy_dtype AnyType();
  const std::vector<deputy_dtype>& types() const { return definition_->types; }

  // Extents with few elements in total. In one model of twelve extents may be 0.
  Dims Shape(size_t least_rank, size_t most_rank);
  // No extent is 0.
  Dims FullShape(size_t least_rank, size_t most_rank);
  // An axis attribute, also counted from the end where the definition allows that.
  int64_t Axis(size_t rank) { return Axis(rank, since() >= 11); }
  int64_t Axis(size_t rank, bool from_end);
  // Different axes, in any order.
  std::vector<int64_t> Axes(size_t rank, size_t count);
  std::vector<int64_t> Axes(size_t rank, size_t count, bool from_end);
  // A shape that broadcasts to `dims`.
  Dims BroadcastableTo(const Dims& dims);

  // Multiples of 1/32 in [low, high] that every float type holds; whole numbers in the integer types, three times as
  // large, from 0 on in the unsigned ones.
  Tensor Values(deputy_dtype dtype, Dims dims, double low = -2, double high = 2);
  // Whole numbers in [low, high], so that some are equal.
  Tensor Ties(deputy_dtype dtype, Dims dims, int64_t low = -2, int64_t high = 2);
  // With the ends of the type among them; infinities and NaN in floats.
  Tensor Wild(deputy_dtype dtype, Dims dims);
  // Values or, one time in four, Wild.
  Tensor Any(deputy_dtype dtype, Dims dims);
  Tensor Distinct(deputy_dtype dtype, Dims dims);
  // An element type for indices, and positions in [-extent, extent), or [0, extent).
  deputy_dtype IndexType() { return Half() ? kI64 : kI32; }
  Tensor Indices(deputy_dtype dtype, Dims dims, int64_t extent, bool from_end);

  // The next input: given at run time or a constant; always one of the two; left out.
  Draft& In(Tensor value);
  Draft& RunTime(Tensor value);
  Draft& Constant(Tensor value);
  Draft& None();
  Draft& Set(const std::string& name, Attribute value);
  // Sets the attribute half of the time, where the definition has it.
  Draft& Maybe(const std::string& name, Attribute value);
  void Outputs(size_t count) { tested_.node.output_count = count; }

  // The node is complete.
  Case Finish();

 private:
  const OperatorFacts& facts_;
  const Definition* definition_;
  bool may_be_empty_;
  Case tested_;
};

using reference::IsUnsigned;
// A multiple of 1/32.
inline Attribute Number(RandomSource& random, double low, double high) {
  const int64_t steps = random.Between(static_cast<int64_t>(low * 32), static_cast<int64_t>(high * 32));
  return Float(static_cast<float>(steps) / 32);
}

}  // namespace deputy::conformance
