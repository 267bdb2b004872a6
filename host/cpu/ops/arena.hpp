// Working memory in pieces: the pieces are counted first, and are then at their offsets in one block.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/aligned.hpp"

namespace deputy::host {

class Arena {
 public:
  // The offset of `count` elements, aligned to a cache line.
  template <class T>
  size_t Reserve(int64_t count) {
    const size_t at = bytes_;
    bytes_ += AlignUp(static_cast<size_t>(count) * sizeof(T));
    return at;
  }
  size_t bytes() const { return bytes_; }

 private:
  size_t bytes_ = 0;
};

}  // namespace deputy::host
