// Short lists of integers of which some elements are known and others not: the shape [N,3,H,W] as a tensor, and what
// models compute from it. So a graph whose batch is open still gets the number of its channels.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "graph/graph.hpp"

namespace deputy::host {

class InferenceContext;

// A number (of any sign), or the extent that a symbol stands for, or nothing known.
struct PartialInt {
  bool known = false;
  int64_t value = kUnknownDim;  // the number; a symbol or kUnknownDim when not known

  // As an extent of a shape: numbers below zero say nothing.
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

// Longer tensors are not followed.
inline constexpr size_t kMostPartialInts = 64;

// What is known of the node's first output, from what is known of its inputs; empty for nothing at all. Called when
// its type has been inferred.
std::optional<PartialInts> InferPartialInts(const InferenceContext& context);

}  // namespace deputy::host
