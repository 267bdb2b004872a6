// Working memory that is kept between uses.
#pragma once

#include <cstddef>

#include "base/aligned.hpp"
#include "base/status.hpp"

namespace deputy::host {

// Grows to the largest demand and stays, so that later runs allocate nothing. One user at a time.
class Scratch {
 public:
  // `bytes` bytes aligned to 64, valid until the next call. Contents are undefined.
  Result<void*> Get(size_t bytes) {
    if (memory_ != nullptr && bytes <= capacity_) return memory_.get();
    memory_.reset();  // the contents are undefined between calls, so old and new need not live at once
    capacity_ = 0;
    memory_ = AllocateWithinMachine(bytes);
    if (memory_ == nullptr) return Error(StatusCode::kResourceExhausted, "no memory for {} bytes", bytes);
    capacity_ = bytes;
    return memory_.get();
  }

 private:
  AlignedBytes memory_;
  size_t capacity_ = 0;
};

}  // namespace deputy::host
