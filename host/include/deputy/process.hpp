// For programs that load plugins: effects of a plugin on the process are reported with its name. All of it is opt-in,
// as signal handlers and exit statuses belong to the application; the program `deputy` enables all of it.
#pragma once

namespace deputy {

// Installs handlers of SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT, for good. One that is received inside a call into a
// plugin, or in a plugin's code, writes one line to stderr, async-signal-safe, with plugin, function and node:
//   deputy: error: plugin com.example.npu (npu.so): execute: node 'conv1' (Conv): received SIGSEGV
// The handlers that were installed before then decide, for these and for all other signals; without any, the process
// dies of the signal as it would have, with a core. Call it after your own handlers are installed. Stack overflow is
// reported on threads that have built a session or run one for the first time. [any-thread]
void ReportFatalSignals();

// From now on, exit() and quick_exit() end the process with `status` and a line on stderr that names the plugin that
// called them, until AcceptExit: a plugin can no longer end the program with success. A `status` that a parent process
// sees as 0 becomes EXIT_FAILURE. A call from inside a plugin, also from its exit handlers, destructors and threads, is
// refused even after AcceptExit; in destructors only where the program has its own exit() and quick_exit().
// [any-thread]
void RefuseExit(int status);
// The program is finished, and about to return from main or to call exit() itself. [any-thread]
void AcceptExit();
// The check of exit(), for a program that has its own exit(), quick_exit() or _exit(): ends the process if `caller`, an
// address in the code that called it, or this thread is in a plugin; returns otherwise. [any-thread]
void CheckExit(const void* caller) noexcept;

}  // namespace deputy

#ifndef DEPUTY_BUILDS_LIBRARY
#include "deputy/detail/process.hpp"  // IWYU pragma: export
#endif
