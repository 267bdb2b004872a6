// Queries and edits of constants that passes share, for any element type.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/function_ref.hpp"
#include "graph/graph.hpp"

namespace deputy::host {

// The constant that a node reads at `i`; null when that input is omitted or not constant.
const Tensor* ConstantInput(const Graph& graph, const Node& node, size_t i);
inline bool HasInput(const Node& node, size_t i) { return i < node.inputs.size() && node.inputs[i] != kNone; }

// The elements of a constant of int64 or int32.
std::optional<std::vector<int64_t>> IntsOf(const Tensor* tensor);

bool IsFloat(DType dtype);
// The elements of a floating point constant; empty for other types, and for a null tensor.
std::vector<double> DoublesOf(const Tensor* tensor);
// A tensor of a floating point type, rounded once. Empty when a number is not finite in that type.
std::optional<Tensor> FromDoubles(DType dtype, const Shape& shape, std::span<const double> values);

// A copy of a floating point tensor in which every run of `block` elements is multiplied by its own factor, in double
// and rounded once. Empty when a number is not finite.
std::optional<Tensor> Scaled(const Tensor& tensor, size_t block, FunctionRef<double(size_t block)> factor);

// Whether every element is `number`; zeros are told apart by their sign. False for types that are not numeric.
bool IsAll(const Tensor& tensor, double number);

// Extents that are equal in every run: numbers and symbols, but not unknown ones.
bool SameExtents(const ValueType& a, const ValueType& b);

}  // namespace deputy::host
