// Memory that outlives runs, from which sessions read an input and to which they write an output: that of a device
// where its delegate keeps values there, so that a value which one run makes is an input of the next, of another
// session or of another model without a copy.
#pragma once

#include <cstddef>
#include <memory>

#include "deputy/dtype.hpp"
#include "deputy/export.hpp"
#include "deputy/status.hpp"
#include "deputy/tensor.hpp"

namespace deputy {

// Made by a session (InputBuffer, OutputBuffer). Copies share the memory, which lives as long as one of them or a
// session that it is bound to. [any-thread]
class DEPUTY_API Buffer {
 public:
  Buffer() = default;

  bool empty() const { return state_ == nullptr; }
  // Not of an empty one.
  DType dtype() const;
  const Shape& shape() const;
  size_t byte_size() const;
  // False: it is in host memory, since no delegate wanted it elsewhere when it was made.
  bool is_on_device() const;

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
