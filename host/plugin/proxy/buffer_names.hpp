// The names that a delegate has given to buffers of its device.
#pragma once

#include <cstdint>
#include <set>

#include "base/mutex.hpp"

namespace deputy::host {

// Of those that are not released. [any-thread]
class BufferNames {
 public:
  // False: another buffer has it.
  bool Add(uint64_t name) {
    const MutexLock lock(mutex_);
    return names_.insert(name).second;
  }
  void Remove(uint64_t name) {
    const MutexLock lock(mutex_);
    names_.erase(name);
  }

 private:
  Mutex mutex_;
  std::set<uint64_t> names_ DEPUTY_GUARDED_BY(mutex_);
};

}  // namespace deputy::host
