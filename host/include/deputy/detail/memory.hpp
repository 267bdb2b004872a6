// Tensors of the C++ API as those of the C API, and back.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "deputy.h"
#include "deputy/detail/call.hpp"
#include "deputy/tensor.hpp"

namespace deputy::detail {

// The deleter tells memory of the library from that of others, also behind a pointer to a part of it.
struct ReleaseMemory {
  DeputyMemory* memory;
  void operator()(const void*) const { DeputyMemoryRelease(memory); }
};

struct TensorMaker {
  static Tensor Make(DType dtype, Shape shape, void* data, size_t bytes, std::shared_ptr<const void> keep) {
    return Tensor(dtype, std::move(shape), data, bytes, std::move(keep));
  }
};

// Takes over what the tensor owns.
inline Tensor Adopt(const DeputyTensor& tensor) {
  if (tensor.data == nullptr) return {};
  std::shared_ptr<const void> keep;
  if (tensor.memory != nullptr) keep = std::shared_ptr<const void>(tensor.memory, ReleaseMemory{tensor.memory});
  return TensorMaker::Make(static_cast<DType>(tensor.dtype),
                           tensor.rank == 0 ? Shape() : Shape(tensor.shape, tensor.shape + tensor.rank), tensor.data,
                           static_cast<size_t>(tensor.byte_size), std::move(keep));
}

// The memory of the library that the tensor owns; null for all others, and for all in a program without run-time type
// information, which then allocates for its outputs.
inline DeputyMemory* MemoryOf([[maybe_unused]] const Tensor& tensor) {
#if defined(__cpp_rtti)
  const ReleaseMemory* const release = std::get_deleter<ReleaseMemory>(tensor.owner());
  return release == nullptr ? nullptr : release->memory;
#else
  return nullptr;
#endif
}

inline DeputyTensor ViewOf(const Tensor& tensor, DeputyMemory* memory) {
  if (tensor.empty()) return {};
  return {static_cast<DeputyDType>(tensor.dtype()),
          static_cast<uint32_t>(tensor.shape().size()),
          tensor.shape().data(),
          const_cast<void*>(tensor.data()),
          tensor.byte_size(),
          memory};
}
inline DeputyTensor ViewOf(const Tensor& tensor) { return ViewOf(tensor, MemoryOf(tensor)); }

// Inputs of a call, which the library reads and does not keep; used again, they allocate nothing.
inline void ViewInputs(const std::vector<Tensor>& tensors, std::vector<DeputyTensor>& views) {
  views.resize(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) views[i] = ViewOf(tensors[i]);
}

// Outputs of a call, of which the library replaces those that do not fit and have an owner. Used again, it allocates
// nothing.
class OutputViews {
 public:
  OutputViews() = default;
  OutputViews(const OutputViews&) = delete;
  OutputViews& operator=(const OutputViews&) = delete;
  ~OutputViews() {
    Release();
    DeputyMemoryRelease(others_);
  }

  // The first `count`, for a request: the library has references of its own to what it keeps.
  void View(const std::vector<Tensor>& tensors, size_t count) {
    Release();
    views_.assign(count, {});
    for (size_t i = 0; i < std::min(count, tensors.size()); ++i) {
      DeputyMemory* memory = MemoryOf(tensors[i]);
      if (memory == nullptr && tensors[i].owner() != nullptr) memory = Others();
      views_[i] = ViewOf(tensors[i], memory);
    }
  }
  // For a run: the library releases the memory of a tensor that it replaces.
  void Take(const std::vector<Tensor>& tensors) {
    View(tensors, tensors.size());
    for (const DeputyTensor& view : views_) DeputyMemoryRetain(view.memory);
    is_held_ = true;
  }
  // After the call, also where it failed.
  void GiveBack(std::vector<Tensor>& tensors) {
    for (size_t i = 0; i < tensors.size(); ++i) {
      const DeputyTensor view = std::exchange(views_[i], {});
      if (view.data != nullptr && view.data == tensors[i].data())
        DeputyMemoryRelease(view.memory);
      else
        tensors[i] = Adopt(view);
    }
    is_held_ = false;
  }
  DeputyTensor* data() { return views_.data(); }
  size_t size() const { return views_.size(); }

 private:
  // What was not given back.
  void Release() {
    if (!std::exchange(is_held_, false)) return;
    for (DeputyTensor& view : views_) DeputyMemoryRelease(std::exchange(view.memory, nullptr));
  }
  // Stands for all owners that are not the library, and says that there is one: the tensors themselves keep their
  // memory during the call.
  DeputyMemory* Others() {
    if (others_ == nullptr) others_ = DeputyMemoryWrap(nullptr, nullptr);
    if (others_ == nullptr) throw std::bad_alloc();
    return others_;
  }

  std::vector<DeputyTensor> views_;
  bool is_held_ = false;  // the views have references to their memory
  DeputyMemory* others_ = nullptr;
};

}  // namespace deputy::detail

namespace deputy {

inline Result<size_t> ByteSize(DType dtype, std::span<const int64_t> shape) {
  uint64_t bytes = 0;
  DEPUTY_RETURN_IF_ERROR(detail::StatusOf(
      DeputyByteSize(static_cast<DeputyDType>(dtype), shape.data(), static_cast<uint32_t>(shape.size()), &bytes)));
  return static_cast<size_t>(bytes);
}

inline Result<Tensor> Tensor::Allocate(DType dtype, Shape shape) {
  DeputyTensor made{};
  DEPUTY_RETURN_IF_ERROR(detail::StatusOf(
      DeputyTensorAllocate(static_cast<DeputyDType>(dtype), shape.data(), static_cast<uint32_t>(shape.size()), &made)));
  return detail::Adopt(made);
}

inline Result<Tensor> Tensor::Wrap(DType dtype, Shape shape, void* data, size_t bytes,
                                   std::shared_ptr<const void> keep) {
  const DeputyTensor given{
      static_cast<DeputyDType>(dtype), static_cast<uint32_t>(shape.size()), shape.data(), data, bytes, nullptr};
  DEPUTY_RETURN_IF_ERROR(detail::StatusOf(DeputyTensorCheck(&given)));
  return Tensor(dtype, std::move(shape), data, bytes, std::move(keep));
}

}  // namespace deputy
