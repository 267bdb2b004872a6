// What this kernel offers for a worker process to give up rights.
#pragma once

#include <string>

namespace deputy::host {

struct SandboxLevel {
  int landlock = 0;      // version of the kernel's Landlock ABI; 0: none, or switched off
  bool seccomp = false;  // filters of system calls
};

// Asks the kernel; changes nothing. [any-thread]
SandboxLevel AvailableSandbox();

// "Landlock 7, seccomp", "none".
std::string ToText(const SandboxLevel& level);

}  // namespace deputy::host
