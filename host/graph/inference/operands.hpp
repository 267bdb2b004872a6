// Checks of operands whose extents do not decide those of the output: what a kernel refuses in a run is refused here as
// soon as types or constants tell. Unknown extents and symbols may be any number. An operand that is omitted passes,
// and one of unknown rank too. `name` is that of the input in errors.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>

#include "graph/inference.hpp"

namespace deputy::host {

// Whether two extents can be the same number.
constexpr bool MayEqual(int64_t a, int64_t b) { return a < 0 || b < 0 || a == b; }

// The input has this shape.
Status CheckShape(const InferenceContext& context, size_t i, std::span<const int64_t> expected, const char* name);
inline Status CheckShape(const InferenceContext& context, size_t i, std::initializer_list<int64_t> expected,
                         const char* name) {
  return CheckShape(context, i, std::span(expected.begin(), expected.size()), name);
}

// The input broadcasts to this shape and does not widen it.
Status CheckBroadcastsTo(const InferenceContext& context, size_t i, std::span<const int64_t> shape, const char* name);

// The input has this number of elements, in any shape.
Status CheckElements(const InferenceContext& context, size_t i, int64_t count, const char* name);

// A scalar, or one element in any shape.
inline Status CheckOneElement(const InferenceContext& context, size_t i, const char* name) {
  return CheckElements(context, i, 1, name);
}

// The error for an attribute whose number is that of no element type that tensors have.
Status UnsupportedElementType(std::string_view attribute, int64_t number);

// The input is not omitted.
Status CheckGiven(const InferenceContext& context, size_t i, const char* name);

// Both inputs are omitted, or none.
Status CheckGivenTogether(const InferenceContext& context, size_t a, size_t b, const char* names);

// The elements of input i if it is a constant of the model, otherwise null: those that only a run knows are checked by
// the kernels.
const Tensor* ModelConstant(const InferenceContext& context, size_t i);

// Each element of a constant of int32 or int64 is in [least, most], or is `exempt`.
struct ValueRange {
  int64_t least = 0, most = 0;
  std::optional<int64_t> exempt = {};
};
Status CheckValues(const InferenceContext& context, size_t i, const ValueRange& range, const char* name);

// Each element of a constant is an index into an axis of `extent` elements, counted from the end when negative.
Status CheckIndexValues(const InferenceContext& context, size_t i, int64_t extent, const char* name);

// Each element of a constant is an index into the axis with the same place in `extents` as it has in its tuple, the
// last axis of the constant; negative ones count from the end.
Status CheckTupleValues(const InferenceContext& context, size_t i, std::span<const int64_t> extents, const char* name);

// The product of the extents; kUnknownDim while one is unknown and none is 0, or where it overflows.
int64_t CountOf(std::span<const int64_t> dims);

}  // namespace deputy::host
