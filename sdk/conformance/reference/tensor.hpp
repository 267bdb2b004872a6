// A tensor as the oracle computes with it: every float as a double, every integer as 64 bits, regardless of its element
// type. Round() converts a result to the precision of that type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "deputy/abi/tensor.h"

namespace deputy::conformance::reference {

using Dims = std::vector<int64_t>;

int64_t CountOf(const Dims& dims);
bool IsReal(deputy_dtype dtype);
bool IsUnsigned(deputy_dtype dtype);
// The ends of an integer type, uint64 by its bits.
int64_t Least(deputy_dtype dtype);
int64_t Most(deputy_dtype dtype);
size_t BytesOf(deputy_dtype dtype);  // of one element
const char* NameOf(deputy_dtype dtype);

struct Tensor {
  deputy_dtype dtype = DEPUTY_DTYPE_FLOAT32;
  Dims dims;
  std::vector<double> real;    // elements of a float type
  std::vector<int64_t> whole;  // elements of every other type; uint64 by its bits, bool as 0 and 1

  Tensor() = default;
  Tensor(deputy_dtype type, Dims extents);

  int64_t count() const { return CountOf(dims); }
  size_t rank() const { return dims.size(); }
  double Get(int64_t i) const;
  // Rounds to the element type; integers wrap.
  void Put(int64_t i, double value);
  void Put(int64_t i, int64_t value);
  // Element `from` of a tensor of the same type, bit for bit.
  void Copy(int64_t i, const Tensor& source, int64_t from);
};

// Compares elements of one type exactly: whole numbers may be too large for a double.
bool Less(const Tensor& a, int64_t i, const Tensor& b, int64_t j);
bool Same(const Tensor& a, int64_t i, const Tensor& b, int64_t j);
bool IsNaN(const Tensor& tensor, int64_t i);

// The nearest value that the type holds, ties to even.
double Round(deputy_dtype dtype, double value);
int64_t Wrap(deputy_dtype dtype, int64_t value);

// Dense row-major elements in the machine's byte order, as at the plugin boundary.
std::vector<uint8_t> Encode(const Tensor& tensor);
Tensor Decode(deputy_dtype dtype, const Dims& dims, const uint8_t* bytes);

// Row-major position of an index, and the index of a position.
int64_t Flat(const Dims& dims, const Dims& index);
Dims IndexOf(const Dims& dims, int64_t flat);
// `axis` counted from the front.
size_t FromFront(int64_t axis, size_t rank);

// Numpy's rule of broadcasting: the shape that both broadcast to.
Dims BroadcastDims(const Dims& a, const Dims& b);

// The position of the element of `shape` at `index` (an index of a shape that it broadcasts to).
int64_t BroadcastFlat(const Dims& shape, const Dims& index);

}  // namespace deputy::conformance::reference
