#include "import/tflite/permute.hpp"

#include <cstring>
#include <utility>

namespace deputy::host::tflite_import {
namespace {

template <size_t kBytes>
void Move(const char* from, char* to, std::span<const int64_t> dims, std::span<const int64_t> strides) {
  if (dims.empty()) {
    std::memcpy(to, from, kBytes);
    return;
  }
  std::vector<int64_t> at(dims.size(), 0);
  const int64_t inner = dims.back(), step = strides.back() * static_cast<int64_t>(kBytes);
  for (int64_t offset = 0;;) {
    const char* source = from + offset * static_cast<int64_t>(kBytes);
    for (int64_t i = 0; i < inner; ++i, source += step, to += kBytes) std::memcpy(to, source, kBytes);
    size_t axis = dims.size() - 1;
    for (;;) {
      if (axis == 0) return;
      --axis;
      offset += strides[axis];
      if (++at[axis] < dims[axis]) break;
      offset -= strides[axis] * dims[axis];
      at[axis] = 0;
    }
  }
}

}  // namespace

std::vector<int64_t> Permuted(std::span<const int64_t> list, std::span<const int64_t> perm) {
  std::vector<int64_t> permuted;
  for (const int64_t axis : perm) permuted.push_back(list[static_cast<size_t>(axis)]);
  return permuted;
}

Result<Tensor> Permuted(const Tensor& tensor, std::span<const int64_t> perm) {
  std::vector<int64_t> strides(perm.size(), 1);
  for (size_t i = perm.size(); i-- > 1;) strides[i - 1] = strides[i] * tensor.shape()[i];
  strides = Permuted(strides, perm);
  DEPUTY_ASSIGN_OR_RETURN(Tensor made, Tensor::Allocate(tensor.dtype(), Permuted(tensor.shape(), perm)));
  if (made.element_count() == 0) return made;
  const auto* from = static_cast<const char*>(tensor.data());
  auto* to = static_cast<char*>(made.mutable_data());
  switch (SizeOf(tensor.dtype())) {
    case 1: Move<1>(from, to, made.shape(), strides); break;
    case 2: Move<2>(from, to, made.shape(), strides); break;
    case 4: Move<4>(from, to, made.shape(), strides); break;
    case 8: Move<8>(from, to, made.shape(), strides); break;
    default: return Error(StatusCode::kNotSupported, "elements of {} cannot be moved", NameOf(tensor.dtype()));
  }
  return made;
}

Result<Tensor> Reshaped(const Tensor& tensor, Shape shape) {
  return Tensor::Wrap(tensor.dtype(), std::move(shape), const_cast<void*>(tensor.data()), tensor.byte_size(),
                      tensor.owner());
}

}  // namespace deputy::host::tflite_import
