// The generators of random nodes, by family of operators as the cases are. Each builds one valid node of an operator:
// shapes, attributes, inputs, in the draft's definition.
#pragma once

#include <string>
#include <vector>

#include "random/draft.hpp"

namespace deputy::conformance {

struct DraftRow {
  const char* op_type;
  void (*write)(Draft&);
};
using DraftRows = std::vector<DraftRow>;

// The families, one file each.
// clang-format off
#define DEPUTY_DRAFT_FAMILIES(X) \
  X(Elementwise) X(Binary) X(Shape) X(Movement) X(Indexing) X(Reduction) X(Generation) X(Selection) X(Matrix) \
  X(Quantization) X(Window) X(Pooling) X(Normalization) X(Recurrent) X(Resize) X(Sampling) X(Signal) X(Attention)
// clang-format on
#define DEPUTY_DECLARE(family) DraftRows family##Drafts();
DEPUTY_DRAFT_FAMILIES(DEPUTY_DECLARE)
#undef DEPUTY_DECLARE

// Any values of an 8-bit type.
inline Tensor Bytes(Draft& d, deputy_dtype dtype, Dims dims) {
  Tensor tensor(dtype, std::move(dims));
  for (int64_t i = 0; i < tensor.count(); ++i) tensor.Put(i, dtype == kU8 ? d.Between(0, 255) : d.Between(-128, 127));
  return tensor;
}

inline Tensor ZeroPoint(Draft& d, deputy_dtype dtype, Dims dims) {
  Tensor tensor(dtype, std::move(dims));
  for (int64_t i = 0; i < tensor.count(); ++i) tensor.Put(i, d.Between(IsUnsigned(dtype) ? 0 : -20, 40));
  return tensor;
}

// Powers of two, so that no quotient is nearly a tie, and odd multiples of them.
inline Tensor Scale(Draft& d, deputy_dtype dtype, Dims dims) {
  Tensor tensor(dtype, std::move(dims));
  for (int64_t i = 0; i < tensor.count(); ++i)
    tensor.Put(i, d.Pick<double>({0.015625, 0.03125, 0.0625, 0.046875, 0.078125}));
  return tensor;
}

// Windows over the spatial dimensions: a kernel with its strides, dilations and pads, of which some keep their default.
struct Window {
  Dims kernel, strides, dilations, pads, input, output;
};

// A window over `rank` dimensions and an input that it fits into; sets strides, dilations, pads and auto_pad.
// `auto_pads` are the allowed values of auto_pad.
Window DrawWindow(Draft& d, size_t rank, const std::vector<std::string>& auto_pads);

inline const std::vector<std::string>& EveryAutoPad() {
  static const auto* const words = new std::vector<std::string>{"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"};
  return *words;
}

}  // namespace deputy::conformance
