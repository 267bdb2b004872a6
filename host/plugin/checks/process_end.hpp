// The end of the process by a plugin, reported with one line to stderr that names it. A fatal signal has its previous
// effect after the line (a core file, a debugger, the application's own handler). exit() ends the process with the
// status of a failure, not with the status that the plugin chose.
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

// From now on exit() and quick_exit() end this process with `status`, or EXIT_FAILURE where that would be success, and
// report their caller, until AcceptExit. A second call changes the status. [any-thread]
void RefuseExit(int status);
// The program's work is complete: outside of plugins exit() is allowed again. [any-thread]
void AcceptExit();
// Registers the check again: exit handlers of a plugin's constructors would run before it otherwise. [load-time]
void RenewExitHook();

// Where exits are refused, writes the line and ends the process; otherwise returns. `caller` may be null: an address in
// the code that ends the process. Runs inside exit(), or in place of it.
void CheckExit(const void* caller) noexcept;

}  // namespace deputy::host
