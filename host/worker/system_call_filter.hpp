// The system calls of a worker process.
#pragma once

#include <string>

namespace deputy::host {

struct SystemCallRights {
  bool devices = false;           // the plugin uses accelerators that are there
  std::string commands = {};      // of their drivers: CommandsOf()
  bool memory_limit = false;      // the memory of the process is limited
  bool files_are_limited = true;  // by Landlock; else no file can be opened for writing, but with `devices`
  int report = -1;                // socket on which the host takes the listener (RefusedCalls); closed on return
};

// Of sandbox.hpp, by a seccomp filter, which allows the calls of system_calls.hpp. A call that is refused fails with
// EPERM, so that a library that tries one, to see what is there, goes on without; some, and those newer than
// libseccomp, with ENOSYS. The host counts it by name, where the kernel lets a process listen. A call of another ABI
// (x32, 32 bits) ends the process. An error text, or empty.
std::string RestrictSystemCalls(const SystemCallRights& rights);

}  // namespace deputy::host
