// A mutex whose use clang checks where the compiler is clang (-Wthread-safety): a member says which mutex guards it, a
// function which one its caller holds.
#pragma once

#include <mutex>

#if defined(__clang__)
#define DEPUTY_THREAD_SAFETY(attribute) __attribute__((attribute))
#else
#define DEPUTY_THREAD_SAFETY(attribute)
#endif

#define DEPUTY_GUARDED_BY(mutex) DEPUTY_THREAD_SAFETY(guarded_by(mutex))
#define DEPUTY_REQUIRES(mutex) DEPUTY_THREAD_SAFETY(requires_capability(mutex))
#define DEPUTY_RETURNS(mutex) DEPUTY_THREAD_SAFETY(lock_returned(mutex))

namespace deputy::host {

template <class M>
class DEPUTY_THREAD_SAFETY(capability("mutex")) CheckedMutex {
 public:
  CheckedMutex() = default;
  CheckedMutex(const CheckedMutex&) = delete;
  CheckedMutex& operator=(const CheckedMutex&) = delete;

  void lock() DEPUTY_THREAD_SAFETY(acquire_capability()) { mutex_.lock(); }
  void unlock() DEPUTY_THREAD_SAFETY(release_capability()) { mutex_.unlock(); }

 private:
  M mutex_;
};
using Mutex = CheckedMutex<std::mutex>;
using RecursiveMutex = CheckedMutex<std::recursive_mutex>;

// std::lock_guard, which clang does not know, of a checked mutex.
template <class M>
class DEPUTY_THREAD_SAFETY(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(M& mutex) DEPUTY_THREAD_SAFETY(acquire_capability(mutex)) : mutex_(mutex) { mutex_.lock(); }
  ~MutexLock() DEPUTY_THREAD_SAFETY(release_capability()) { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  M& mutex_;
};

}  // namespace deputy::host
