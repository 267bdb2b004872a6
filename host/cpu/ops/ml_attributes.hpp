// What kernels of ai.onnx.ml read from their attributes and their input X: lists of floats, which may be tensors, the
// labels of classes, the transform of scores; rows of any of the domain's element types as floats.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cpu/kernel.hpp"
#include "kernels/scores.hpp"

namespace deputy::host {

// NONE for an attribute that is omitted or empty.
ScoreTransform ReadTransform(const Primitive& primitive);

// The floats of attribute `name`, or those of the tensor `name`_as_tensor; fails where both are given.
template <class T>
Result<std::vector<T>> ReadReals(const Primitive& primitive, const std::string& name);
// The elements of a tensor of floats.
template <class T>
Result<std::vector<T>> RealsOf(const std::optional<Tensor>& tensor, std::string_view name);

// Of `ints`, or the numbers 0, 1, ... of classlabels_strings: strings are no values of a run. Fails where there are
// none, or both are given.
Result<std::vector<int64_t>> ReadClassLabels(const Primitive& primitive, std::string_view ints);

// kModel unless the list has so many elements: "attribute 'rho' has 2 elements, expected 3, one for each ...".
Status CheckCount(std::string_view attribute, size_t count, size_t expected, std::string_view reason);

// Rows and columns of X: one row, where its rank is 1. Fails for other ranks than 1 and 2.
struct RowDims {
  int64_t rows = 1, columns = 0;
};
Result<RowDims> ReadRowDims(const ConstView& x);
// The same, and whether there are so many columns; `source` says why, in the message.
Result<RowDims> ReadRowDims(const ConstView& x, int64_t columns, std::string_view source);

// X is there, and has one of the types that a row of float32 is read from.
Status CheckRowInput(const KernelSpec& spec);

// Elements of X, which are numbers, as T: in its own memory where it has that type, otherwise in memory of the caller.
template <class T>
class RowReader {
 public:
  explicit RowReader(const ConstView& x);
  bool copies() const { return convert_ != nullptr; }
  // `count` elements from number `first` on; `copy` has room for as many where copies() holds.
  const T* Read(int64_t first, int64_t count, T* copy) const;

 private:
  const char* data_;
  int64_t size_;
  void (*convert_)(const void*, void*, int64_t) = nullptr;
};

extern template Result<std::vector<float>> ReadReals(const Primitive&, const std::string&);
extern template Result<std::vector<double>> ReadReals(const Primitive&, const std::string&);
extern template Result<std::vector<float>> RealsOf(const std::optional<Tensor>&, std::string_view);
extern template Result<std::vector<double>> RealsOf(const std::optional<Tensor>&, std::string_view);
extern template class RowReader<float>;
extern template class RowReader<double>;

}  // namespace deputy::host
