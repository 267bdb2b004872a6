// Memory for code that cannot fail: static constructors of a library, whose std::bad_alloc would end the process.
#pragma once

#include "base/status.hpp"

namespace deputy::host {

// While it lives, an allocation by `new` that fails is tried once more with the reserve freed. Of all that live at once
// there is one reserve. [any-thread]
class MemoryReserve {
 public:
  MemoryReserve();
  ~MemoryReserve();
  MemoryReserve(const MemoryReserve&) = delete;
  MemoryReserve& operator=(const MemoryReserve&) = delete;

  // kResourceExhausted: there is none.
  const Status& status() const { return status_; }

 private:
  Status status_;
};

}  // namespace deputy::host
