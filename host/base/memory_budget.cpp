#include "base/memory_budget.hpp"

namespace deputy::host {
namespace {

thread_local WeightMemoryScope* weight_scope = nullptr;
thread_local size_t weights_taken = 0;

constexpr const char* kAdvice = "raise 'limits: {memory: ...}' in the configuration, or 0B for no limit";

}  // namespace

bool MemoryBudget::Take(size_t bytes) {
  size_t used = used_.load(std::memory_order_relaxed);
  do {
    if (bytes > limit_ - used) return false;
  } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
  return true;
}

Status MemoryBudget::Exceeded(size_t bytes, const std::string& purpose) const {
  return Error(StatusCode::kResourceExhausted,
               "{} bytes for {} exceed the memory limit of the session: {} bytes, of which {} are in use", bytes,
               purpose, limit_, used())
      .Advise(kAdvice);
}

WeightMemoryScope::WeightMemoryScope(size_t limit) : before_(weight_scope), limit_(limit) { weight_scope = this; }

WeightMemoryScope::~WeightMemoryScope() { weight_scope = before_; }

bool WeightMemoryScope::Take(size_t bytes) {
  if (WeightMemoryScope* const scope = weight_scope) {
    if (bytes > scope->limit_ - scope->taken_) {
      if (scope->refused_ == 0) scope->refused_ = bytes;
      return false;
    }
    scope->taken_ += bytes;
  }
  weights_taken += bytes;
  return true;
}

void WeightMemoryScope::Give(size_t bytes) {
  if (weight_scope != nullptr) weight_scope->taken_ -= bytes;
  weights_taken -= bytes;
}

size_t WeightMemoryScope::Taken() { return weights_taken; }

Status WeightMemoryScope::Check() {
  const WeightMemoryScope* const scope = weight_scope;
  if (scope == nullptr || scope->refused_ == 0) return {};
  return Error(StatusCode::kResourceExhausted,
               "{} bytes for packed weights exceed the memory limit of a session: {} bytes, of which packed weights "
               "have {}",
               scope->refused_, scope->limit_, scope->taken_)
      .Advise(kAdvice);
}

AlignedBytes AllocateWeights(size_t bytes) { return WeightMemoryScope::Take(bytes) ? AllocateAligned(bytes) : nullptr; }

}  // namespace deputy::host
