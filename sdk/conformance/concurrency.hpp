// The calls of a delegate that may overlap, as its flags and deputy.concurrency/1 say.
#pragma once

#include "instance.hpp"

namespace deputy::conformance {

// DEPUTY_CONCURRENT_... bits: executes of contexts, executables and instances.
uint32_t AllowedConcurrency(Instance& instance);

// May compile overlap with an execute?
inline bool LoadsWhileRunning(const Instance& instance) {
  const uint32_t flags = instance.delegate()->flags;
  return (flags & DEPUTY_DELEGATE_SERIAL) == 0 || (flags & DEPUTY_DELEGATE_LOADS_WHILE_RUNNING) != 0;
}

// May context_create and context_destroy?
inline bool IsSerial(const Instance& instance) { return (instance.delegate()->flags & DEPUTY_DELEGATE_SERIAL) != 0; }

}  // namespace deputy::conformance
