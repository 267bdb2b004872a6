// Memory that outlives runs, from which sessions read an input and to which they write an output: that of a device
// where its delegate keeps values there, so that a value which one run makes is an input of the next, of another
// session or of another model without a copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "deputy/dtype.hpp"
#include "deputy/status.hpp"
#include "deputy/tensor.hpp"

namespace deputy {

// Memory of memfd_create, which processes and devices share. `offset`: bytes before the first element.
struct SharedMemory {
  int descriptor = -1;
  uint64_t offset = 0;
};

// Made by a session (InputBuffer, OutputBuffer), or shared. Copies share the memory, which lives as long as one of them
// or a session that it is bound to. [any-thread]
class Buffer {
 public:
  Buffer() = default;

  // On memory that is there, whose elements are dense: the CPU uses it in place, and so do delegates whose device can
  // (deputy.memory, import), in worker processes too. The descriptor is duplicated. Other owners see what a run writes
  // when it has ended. No run waits for them, and they are trusted not to write what a run reads meanwhile.
  // kResourceExhausted without a descriptor or memory, kInvalidArgument for a descriptor of something else than memory
  // of memfd_create, memory that is not sealed with F_SEAL_SHRINK (a process would end when it touches what another one
  // cut off), cannot be written or is too small, and an offset that is no multiple of 64.
  static Result<Buffer> Import(const SharedMemory& memory, DType dtype, const Shape& shape);
  // On new memory of zeros that can be imported by others.
  static Result<Buffer> MakeShared(DType dtype, const Shape& shape);

  bool empty() const { return state_ == nullptr; }
  // Not of an empty one.
  DType dtype() const;
  const Shape& shape() const;
  size_t byte_size() const;
  // False: it is in host memory, since no delegate wanted it elsewhere when it was made, or it is shared.
  bool is_on_device() const;
  // The memory of a buffer that is shared, for other owners; the descriptor is the buffer's. Of another one: -1.
  SharedMemory shared() const;

  // Copies all elements. kInvalidArgument for an empty buffer or another type or shape, kFailedPrecondition while a run
  // uses the buffer and in a child of a fork, kDeviceLost where the device was lost since it was made. A run that
  // begins meanwhile waits for the copy.
  Status Write(const Tensor& values);
  Result<Tensor> Read() const;

  struct State;  // internal to the host

 private:
  friend class Session;
  explicit Buffer(std::shared_ptr<State> state) : state_(std::move(state)) {}

  std::shared_ptr<State> state_;
};

}  // namespace deputy

#ifndef DEPUTY_BUILDS_LIBRARY
#include "deputy/detail/buffer.hpp"  // IWYU pragma: export
#endif
