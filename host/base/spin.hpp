// Waiting in a loop before a thread sleeps in the kernel: a blocking wake-up costs tens of microseconds, a polled one
// less than one. Where this process may use a single CPU, polling only keeps the other side from running.
#pragma once

#include <cstdint>

namespace deputy::host {

// CPUs that this process may use, at the time of the call. [any-thread]
uint32_t AvailableCpus();

// Tells the CPU that this thread polls.
inline void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

}  // namespace deputy::host
