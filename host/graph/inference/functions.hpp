// Declares Infer<Operator> for every operator of the list, each defined in the file of its family, and their shared
// parts: products of extents that may be symbols, and the known elements of an input that holds extents or axes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "graph/inference.hpp"

namespace deputy::host {

#define DEPUTY_OPERATOR_BEGIN(name, ...) Status Infer##name(InferenceContext& context);
#include "schema/operators.inc"

// Product of extents: a number, the symbol when all others are ones, otherwise kUnknownDim. Fails when the known part
// is too large.
Result<int64_t> DimProduct(std::span<const int64_t> dims);

// The common extent of two that must be equal; fails when both are known and differ. Numbers win over symbols, symbols
// over unknown.
Result<int64_t> MergeDim(int64_t a, int64_t b);

// An input that holds a list of integers: its elements, or some of them, or at least their number.
struct IntList {
  std::optional<std::vector<int64_t>> values;
  std::optional<size_t> count;
  std::vector<PartialInt> elements{};  // `count` of them, each known or unknown

  // The elements as extents.
  std::vector<int64_t> dims() const;
};
// `name` is that of the input in errors. Fails when the input is omitted, not int32 or int64, or of rank 2 and more.
Result<IntList> ReadIntList(const InferenceContext& context, size_t i, const char* name);

// Axes without their signs; fails when one is out of range or named twice.
Result<std::vector<size_t>> NormalizeAxes(const InferenceContext& context, std::span<const int64_t> axes, size_t rank);

// The number in a scalar of any numeric type, without its fraction. Fails for a tensor of more elements, and for
// numbers that do not fit an int64.
Result<int64_t> IntOf(const Tensor& scalar, const char* name);

// Runs `infer` for a node with the inputs `first` and `second` alone, in another element type.
Status InferAs(InferenceContext& context, size_t first, size_t second, InferenceFunction infer, DType dtype);

// Sets the first output to the type of the first input, but for the element type.
Status LikeInput(InferenceContext& context, DType dtype);

// A scale or zero point is one value for its whole tensor (a scalar, or a list of one), or, of weights, also a list of
// one for each of `count` channels; kUnknownDim: any number of them. `name` is that of the input in errors. An input
// that is omitted or of unknown shape passes.
Status CheckOneValue(const InferenceContext& context, size_t i, const char* name);
Status CheckOneOrEach(const InferenceContext& context, size_t i, int64_t count, const char* name);

// An extent that is unknown if the rank is, or has no such axis.
inline int64_t DimOf(const ValueType& type, size_t axis) {
  return type.ranked && axis < type.dims.size() ? type.dims[axis] : kUnknownDim;
}
// A rank beyond the largest one, which may be any number of a model, gives one beyond it, which is then refused.
inline std::vector<int64_t> UnknownDims(size_t rank) {
  return std::vector<int64_t>(std::min(rank, kMostAxes + 1), kUnknownDim);
}

}  // namespace deputy::host
