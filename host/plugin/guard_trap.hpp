// Says, when the process dies of an access to a watched region of memory, whose it was: one line to stderr, and then
// whatever would have happened without (a core, a debugger, the application's own handler).
#pragma once

#include <cstddef>

namespace deputy::host {

// `what` completes "deputy: check: "; it must outlive the region. Regions beyond what the table holds are not watched.
// The handlers of SIGSEGV and SIGBUS are installed with the first region. [any-thread]
void WatchRegion(const void* begin, size_t size, const char* what);
void UnwatchRegion(const void* begin);

}  // namespace deputy::host
