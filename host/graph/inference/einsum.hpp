// The equation of an Einsum: the label of each axis of each operand. Inference and the CPU's kernel both read it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "tensor/small_dims.hpp"

namespace deputy::host {

// Labels are numbers: letters, then the axes that "..." covers. A set of them is a mask.
inline constexpr size_t kEinsumLetters = 52, kEinsumLabels = 64;
using LabelSet = uint64_t;
constexpr LabelSet Label(int64_t label) { return LabelSet{1} << label; }

// One side's term: letters in their order, and the place of the "...", if there is one.
struct EinsumTerm {
  std::vector<int64_t> letters;
  int64_t ellipsis = -1;  // letters before it
};

struct EinsumEquation {
  std::vector<EinsumTerm> operands;
  EinsumTerm result;
};

// An equation without "->" has the letters that appear once, in alphabetical order, after a "..." if there is any.
Result<EinsumEquation> ParseEinsum(std::string_view equation);

// The labels of the axes, given the ranks of the operands.
inline constexpr size_t kEinsumOperands = 8;
struct EinsumLabels {
  std::array<SmallDims, kEinsumOperands> operands;
  SmallDims result;
};
Result<EinsumLabels> LabelEinsum(const EinsumEquation& equation, std::span<const size_t> ranks);

}  // namespace deputy::host
