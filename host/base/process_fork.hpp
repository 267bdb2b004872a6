// Processes that fork. Threads, locks and worker processes belong to the process that made them, so a child made by
// fork can neither use what it inherits nor end it.
#pragma once

#include <memory>

#include "base/status.hpp"

namespace deputy::host {

// From here on, children that this process forks are recognised. [any-thread]
void RecogniseForks();

// Whether this process was forked after RecogniseForks. [any-thread]
bool IsForkedChild();

// kFailedPrecondition in such a child.
Status CheckNotForked();

// Keeps what `pointer` owns for ever in such a child; does nothing elsewhere. For destructors.
template <class Pointer>
void KeepInForkedChild(Pointer& pointer) {
  if (IsForkedChild() && pointer != nullptr) new Pointer(std::move(pointer));  // never destroyed
}

}  // namespace deputy::host
