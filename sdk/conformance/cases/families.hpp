// The generators of cases, by family of operators. Each adds the plainest use of an operator, then one case for each
// attribute, element type and awkward shape that differs from it in that alone, then some that combine them.
#pragma once

#include <cstdint>
#include <vector>

#include "case.hpp"

namespace deputy::conformance {

// The families, one file each.
// clang-format off
#define DEPUTY_CASE_FAMILIES(X) \
  X(Elementwise) X(Binary) X(Convolution) X(Pooling) X(Matrix) X(Normalization) X(Movement) X(Indexing) X(Reduction) \
  X(Resize) X(Quantization) X(Recurrent) X(Attention) X(Sampling) X(Detection) X(Signal) X(Selection) X(Generation) \
  X(LongSums) X(Old) X(First) X(Microsoft) X(MicrosoftAttention) X(MicrosoftQuantized)
// clang-format on
#define DEPUTY_DECLARE(family) void Add##family##Cases(std::vector<Case>& cases, uint64_t seed);
DEPUTY_CASE_FAMILIES(DEPUTY_DECLARE)
#undef DEPUTY_DECLARE

// An attribute with its value in a case.
struct Setting {
  const char* name;
  Attribute value;
};

// Shapes at which index arithmetic goes wrong: a scalar, one element, odd extents, extents of 1, none, more dimensions.
inline const std::vector<Dims>& AwkwardShapes() {
  static const auto* const shapes =
      new std::vector<Dims>{{}, {1}, {7}, {3, 5}, {1, 1, 1, 1}, {2, 1, 3}, {0}, {2, 0, 3}, {2, 3, 1, 2, 3}, {33, 17}};
  return *shapes;
}

// A list of whole numbers, or a single one.
inline Tensor Zero(deputy_dtype dtype, std::vector<int64_t> values) {
  Tensor tensor(dtype, values.size() == 1 ? Dims{} : Dims{static_cast<int64_t>(values.size())});
  tensor.whole = std::move(values);
  return tensor;
}

inline std::string ShapeNote(const Dims& dims) {
  if (dims.empty()) return "shape=scalar";
  return (reference::CountOf(dims) == 0 ? "shape=empty" : "shape=") + TextOf(dims);
}

}  // namespace deputy::conformance
