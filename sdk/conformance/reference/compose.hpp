// Operators that are compositions of others: the oracle computes those in double precision, so that only the last
// result is rounded to the element type.
#pragma once

#include <utility>

#include "reference/node.hpp"

namespace deputy::conformance::reference {

// The same numbers, as doubles or rounded to `dtype`.
inline Tensor InType(const Tensor& x, deputy_dtype dtype) {
  Tensor y(dtype, x.dims);
  for (int64_t i = 0; i < x.count(); ++i) y.Put(i, x.Get(i));
  return y;
}
inline Tensor Wide(const Tensor& x) { return IsReal(x.dtype) ? InType(x, DEPUTY_DTYPE_FLOAT64) : x; }

// The first output of an operator of ONNX.
inline Tensor Apply(const char* op_type, const std::vector<Tensor>& inputs, Attributes attributes = {},
                    int32_t since_version = 22) {
  Node node;
  node.op_type = op_type;
  node.since_version = since_version;
  node.attributes = std::move(attributes);
  Inputs pointers;
  for (const Tensor& input : inputs) pointers.push_back(&input);
  return Compute(node, pointers)[0];
}

// A tensor of these extents, element by element. fn: double(const Dims& index)
template <class F>
Tensor Filled(deputy_dtype dtype, const Dims& dims, F fn) {
  Tensor y(dtype, dims);
  for (int64_t i = 0; i < y.count(); ++i) y.Put(i, fn(IndexOf(dims, i)));
  return y;
}

// [batch, heads, rows, size] as [batch, rows, heads * size].
inline Tensor Merged(const Tensor& x, deputy_dtype dtype) {
  const int64_t size = x.dims[3];
  return Filled(dtype, {x.dims[0], x.dims[2], x.dims[1] * size}, [&](const Dims& at) {
    return x.Get(Flat(x.dims, {at[0], at[2] / size, at[1], at[2] % size}));
  });
}

// (integer - zero point) * scale, with one of each or one for each index along `axis`. The zero point may be NULL.
inline Tensor Reals(const Tensor& x, const Tensor& scale, const Tensor* zero, size_t axis = 0) {
  const auto at = [axis](const Tensor& list, const Dims& index) {
    return list.count() == 1 ? list.Get(0) : list.Get(index[axis]);
  };
  return Filled(DEPUTY_DTYPE_FLOAT64, x.dims, [&](const Dims& index) {
    return (x.Get(Flat(x.dims, index)) - (zero == nullptr ? 0 : at(*zero, index))) * at(scale, index);
  });
}

// AveragePool. With `count_all` the attribute count_include_pad also counts taps behind the padding, which exist only
// in windows larger than the padded input and in those added by ceil_mode.
Tensor AveragePooled(const Node& node, const Tensor& x, bool count_all);

// The nearest quantized integers of the type for `x`.
Tensor Quantized(const Tensor& x, const Tensor& scale, const Tensor* zero, deputy_dtype dtype);

}  // namespace deputy::conformance::reference
