// Working memory that is kept between uses.
#pragma once

#include <cstddef>
#include <memory>

#include "base/aligned.hpp"
#include "base/status.hpp"

namespace deputy::host {

// Grows to the largest demand and stays, so that later runs allocate nothing. One user at a time.
class Scratch {
 public:
  // `bytes` bytes aligned to 64, valid until the next call. Contents are undefined.
  Result<void*> Get(size_t bytes);

 private:
  AlignedBytes memory_;
  size_t capacity_ = 0;
};

}  // namespace deputy::host
