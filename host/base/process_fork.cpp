#include "base/process_fork.hpp"

#include <pthread.h>

#include <atomic>

namespace deputy::host {
namespace {

std::atomic<bool> forked{false};

}  // namespace

void RecogniseForks() {
  // Without memory for the handler, forks are not recognised; nothing else depends on it.
  static const int registered = pthread_atfork(nullptr, nullptr, [] { forked.store(true, std::memory_order_relaxed); });
  (void)registered;
}

bool IsForkedChild() { return forked.load(std::memory_order_relaxed); }

Status CheckNotForked() {
  if (!IsForkedChild()) return {};
  return Error(StatusCode::kFailedPrecondition, "this process was forked from one that uses Deputy")
      .Advise("start another program (exec) in the child, or fork before the first model is built");
}

}  // namespace deputy::host
