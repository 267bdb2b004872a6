#include "tensor/scratch.hpp"

#include <cstdint>
#include <cstdlib>

namespace deputy::host {

Result<void*> Scratch::Get(size_t bytes) {
  constexpr size_t kAlignment = 64;
  if (memory_ != nullptr && bytes <= capacity_) return memory_.get();
  if (bytes > SIZE_MAX - kAlignment)
    return Error(StatusCode::kResourceExhausted, "no working memory of {} bytes can exist", bytes);
  const size_t padded = (bytes / kAlignment + 1) * kAlignment;
  memory_.reset();  // the contents are undefined between calls, so old and new need not live at once
  capacity_ = 0;
  void* memory = std::aligned_alloc(kAlignment, padded);
  if (memory == nullptr) return Error(StatusCode::kResourceExhausted, "no working memory of {} bytes", bytes);
  memory_ = {memory, std::free};
  capacity_ = padded;
  return memory;
}

}  // namespace deputy::host
