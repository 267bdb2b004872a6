// Reports a fatal signal: one line to stderr that names the plugin, or the watched memory that was accessed. The signal
// then has its previous effect (a core file, a debugger, the application's own handler).
#pragma once

#include <cstddef>

namespace deputy::host {

// Installs handlers of SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT. One that is received inside a call into a plugin,
// or in a plugin's code, is reported:
//   deputy: error: plugin com.example.npu (npu.so): execute: node 'conv1' (Conv): received SIGSEGV
// The previous handlers are called then, as for all other signals. Idempotent. [any-thread]
void ReportFatalSignals();
// Gives the calling thread a stack for the handlers if it has none, so that a stack that overflows is reported too.
// Does nothing while no handler is installed.
void ProvideSignalStack() noexcept;

// Reports an access to a region of memory that must not be accessed. `text` completes "deputy: check: "; it must
// outlive the region. Regions that exceed the table are not watched. The handlers of SIGSEGV and SIGBUS are installed
// with the first region. [any-thread]
void WatchRegion(const void* begin, size_t size, const char* text);
void UnwatchRegion(const void* begin);

}  // namespace deputy::host
