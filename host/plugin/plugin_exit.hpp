// exit() called by a plugin: ends the process with the status of a failure and a line that names the plugin, and not
// with the status that the plugin chose.
#pragma once

namespace deputy::host {

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
