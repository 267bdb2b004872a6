// Short lists of integers that are known in part: the shape [N,3,H,W] as a tensor, and values that models compute from
// it. So a graph with a dynamic batch still has a known number of channels.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "graph/graph.hpp"

namespace deputy::host {

class InferenceContext;

// A number (of any sign), the extent of a symbol, or unknown.
struct PartialInt {
  bool known = false;
  int64_t value = kUnknownDim;  // the number; a symbol or kUnknownDim when not known

  // As an extent of a shape: negative numbers are unknown.
  int64_t dim() const { return known && value < 0 ? kUnknownDim : value; }
  bool is_symbol() const { return !known && IsSymbol(value); }
  bool operator==(const PartialInt&) const = default;
};

inline PartialInt KnownInt(int64_t value) { return {true, value}; }
inline PartialInt IntOfDim(int64_t dim) { return {dim >= 0, dim}; }

// A scalar or a list. Elements of a bool tensor are 0 and 1.
struct PartialInts {
  bool scalar = false;
  std::vector<PartialInt> elements;

  bool all_known() const;
};

// Longer tensors are not tracked.
inline constexpr size_t kMostPartialInts = 64;

// The known elements of the node's first output, from those of its inputs; empty if none is known. Called after its
// type has been inferred.
std::optional<PartialInts> InferPartialInts(const InferenceContext& context);

}  // namespace deputy::host
