// Working memory that is kept between uses.
#pragma once

#include <cstddef>
#include <utility>

#include "base/aligned.hpp"
#include "base/memory_budget.hpp"
#include "base/status.hpp"

namespace deputy::host {

// Grows to the largest demand and stays, so that later runs allocate nothing. One user at a time.
class Scratch {
 public:
  explicit Scratch(MemoryBudget* budget = nullptr) : budget_(budget) {}  // null: there is no limit

  // `bytes` bytes aligned to 64, valid until the next call. Contents are undefined.
  Result<void*> Get(size_t bytes) {
    if (memory_ != nullptr && bytes <= capacity_) return memory_.get();
    memory_.reset();  // the contents are undefined between calls, so old and new need not live at once
    GiveMemory(budget_, std::exchange(capacity_, 0));
    DEPUTY_RETURN_IF_ERROR(TakeMemory(budget_, bytes, "the working memory of a kernel"));
    capacity_ = bytes;  // taken, also where there is no memory
    memory_ = AllocateWithinMachine(bytes);
    if (memory_ == nullptr) return Error(StatusCode::kResourceExhausted, "no memory for {} bytes", bytes);
    return memory_.get();
  }

 private:
  MemoryBudget* const budget_;
  AlignedBytes memory_;
  size_t capacity_ = 0;
};

}  // namespace deputy::host
