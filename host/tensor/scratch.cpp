#include "tensor/scratch.hpp"

#include "base/memory.hpp"

namespace deputy::host {

Result<void*> Scratch::Get(size_t bytes) {
  if (memory_ != nullptr && bytes <= capacity_) return memory_.get();
  memory_.reset();  // the contents are undefined between calls, so old and new need not live at once
  capacity_ = 0;
  memory_ = AllocateWithinMachine(bytes);
  if (memory_ == nullptr) return Error(StatusCode::kResourceExhausted, "no working memory of {} bytes", bytes);
  capacity_ = bytes;
  return memory_.get();
}

}  // namespace deputy::host
