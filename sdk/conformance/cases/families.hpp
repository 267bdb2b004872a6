// The generators of cases, by family of operators. Each adds the plainest use of an operator, then one case for each
// attribute, element type and awkward shape that differs from it in that alone, then some that combine them.
#pragma once

#include <cstdint>
#include <vector>

#include "case.hpp"

namespace deputy::conformance {

void AddElementwiseCases(std::vector<Case>& cases, uint64_t seed);
void AddBinaryCases(std::vector<Case>& cases, uint64_t seed);
void AddConvolutionCases(std::vector<Case>& cases, uint64_t seed);
void AddPoolingCases(std::vector<Case>& cases, uint64_t seed);
void AddMatrixCases(std::vector<Case>& cases, uint64_t seed);
void AddNormalizationCases(std::vector<Case>& cases, uint64_t seed);
void AddMovementCases(std::vector<Case>& cases, uint64_t seed);
void AddIndexingCases(std::vector<Case>& cases, uint64_t seed);
void AddReductionCases(std::vector<Case>& cases, uint64_t seed);
void AddResizeCases(std::vector<Case>& cases, uint64_t seed);
void AddQuantizationCases(std::vector<Case>& cases, uint64_t seed);
void AddRecurrentCases(std::vector<Case>& cases, uint64_t seed);
void AddEinsumCases(std::vector<Case>& cases, uint64_t seed);
void AddAttentionCases(std::vector<Case>& cases, uint64_t seed);
void AddSamplingCases(std::vector<Case>& cases, uint64_t seed);
void AddDetectionCases(std::vector<Case>& cases, uint64_t seed);
void AddSignalCases(std::vector<Case>& cases, uint64_t seed);
void AddLossCases(std::vector<Case>& cases, uint64_t seed);
void AddSelectionCases(std::vector<Case>& cases, uint64_t seed);
void AddGenerationCases(std::vector<Case>& cases, uint64_t seed);
void AddPatchCases(std::vector<Case>& cases, uint64_t seed);
void AddOldCases(std::vector<Case>& cases, uint64_t seed);
void AddFirstCases(std::vector<Case>& cases, uint64_t seed);
void AddMicrosoftCases(std::vector<Case>& cases, uint64_t seed);
void AddMicrosoftAttentionCases(std::vector<Case>& cases, uint64_t seed);
void AddMicrosoftQuantizedCases(std::vector<Case>& cases, uint64_t seed);

using reference::Attribute;
using reference::Dims;
using reference::Tensor;

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

inline std::string ShapeNote(const Dims& dims) {
  if (dims.empty()) return "shape=scalar";
  return (reference::CountOf(dims) == 0 ? "shape=empty" : "shape=") + TextOf(dims);
}

}  // namespace deputy::conformance
