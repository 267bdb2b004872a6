// The memory that a session may take (`limits: {memory}`): what allocates for it takes the bytes here first, so that a
// model that asks for too much fails before it has them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/aligned.hpp"
#include "base/status.hpp"

namespace deputy::host {

class MemoryBudget {
 public:
  explicit MemoryBudget(size_t limit) : limit_(limit) {}
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  size_t limit() const { return limit_; }
  size_t used() const { return used_.load(std::memory_order_relaxed); }
  // Counts `bytes` more. False, without effect, if they are more than what is left. [any-thread]
  bool Take(size_t bytes);
  void Give(size_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }
  // kResourceExhausted where Take was refused: "3 bytes for `purpose` exceed ...".
  Status Exceeded(size_t bytes, const std::string& purpose) const;

 private:
  const size_t limit_;
  std::atomic<size_t> used_{0};
};

// `budget` may be null: there is no limit. The purpose is only for the message: "a tensor".
inline Status TakeMemory(MemoryBudget* budget, size_t bytes, const char* purpose) {
  return budget == nullptr || budget->Take(bytes) ? Status() : budget->Exceeded(bytes, purpose);
}
inline void GiveMemory(MemoryBudget* budget, size_t bytes) {
  if (budget != nullptr) budget->Give(bytes);
}

// While it lives, kernels that are made on this thread may keep so many bytes of weights in their own forms. It does
// not nest: the innermost one counts.
class WeightMemoryScope {
 public:
  explicit WeightMemoryScope(size_t limit);  // SIZE_MAX: none
  ~WeightMemoryScope();
  WeightMemoryScope(const WeightMemoryScope&) = delete;
  WeightMemoryScope& operator=(const WeightMemoryScope&) = delete;

  // Called before a kernel allocates memory that it keeps. False if it must not; true outside of every scope.
  static bool Take(size_t bytes);
  static void Give(size_t bytes);
  // What kernels made on this thread have taken so far, also outside of every scope.
  static size_t Taken();
  // kResourceExhausted after a Take of the innermost scope was refused.
  static Status Check();

 private:
  WeightMemoryScope* const before_;
  const size_t limit_;
  size_t taken_ = 0, refused_ = 0;  // refused_: bytes of the first request that was refused
};

// AllocateAligned for memory that a kernel keeps; null where WeightMemoryScope refuses it, too.
AlignedBytes AllocateWeights(size_t bytes);

}  // namespace deputy::host
