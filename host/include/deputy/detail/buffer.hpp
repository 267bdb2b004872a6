// Buffer for programs, on the C API.
#pragma once

#include <memory>
#include <utility>

#include "deputy.h"
#include "deputy/buffer.hpp"
#include "deputy/detail/call.hpp"
#include "deputy/detail/memory.hpp"

namespace deputy {

struct Buffer::State {
  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { DeputyBufferFree(buffer); }

  // The buffer that `make(buffer)` makes.
  template <class F>
  static Result<Buffer> Made(const F& make) {
    auto state = std::make_shared<State>();
    DEPUTY_RETURN_IF_ERROR(detail::StatusOf(make(&state->buffer)));
    state->info.struct_size = sizeof state->info;
    DeputyBufferDescribe(state->buffer, &state->info);
    state->shape.assign(state->info.shape, state->info.shape + state->info.rank);
    return Buffer(std::move(state));
  }

  DeputyBuffer* buffer = nullptr;
  DeputyBufferInfo info{};
  Shape shape;
};

inline Result<Buffer> Buffer::Import(const SharedMemory& memory, DType dtype, const Shape& shape) {
  return State::Made([&](DeputyBuffer** buffer) {
    return DeputyBufferImport(memory.descriptor, memory.offset, static_cast<DeputyDType>(dtype), shape.data(),
                              static_cast<uint32_t>(shape.size()), buffer);
  });
}

inline Result<Buffer> Buffer::MakeShared(DType dtype, const Shape& shape) {
  return State::Made([&](DeputyBuffer** buffer) {
    return DeputyBufferMakeShared(static_cast<DeputyDType>(dtype), shape.data(), static_cast<uint32_t>(shape.size()),
                                  buffer);
  });
}

inline DType Buffer::dtype() const { return static_cast<DType>(state_->info.dtype); }
inline const Shape& Buffer::shape() const { return state_->shape; }
inline size_t Buffer::byte_size() const { return static_cast<size_t>(state_->info.byte_size); }
inline bool Buffer::is_on_device() const { return !empty() && state_->info.is_on_device != 0; }
inline SharedMemory Buffer::shared() const {
  return empty() ? SharedMemory{} : SharedMemory{state_->info.descriptor, state_->info.offset};
}

inline Status Buffer::Write(const Tensor& values) {
  const DeputyTensor view = detail::ViewOf(values);
  return detail::StatusOf(DeputyBufferWrite(empty() ? nullptr : state_->buffer, &view));
}

inline Result<Tensor> Buffer::Read() const {
  DeputyTensor values{};
  DEPUTY_RETURN_IF_ERROR(detail::StatusOf(DeputyBufferRead(empty() ? nullptr : state_->buffer, &values)));
  return detail::Adopt(values);
}

}  // namespace deputy
