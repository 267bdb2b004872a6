// The rights of a worker process. Before it runs an instruction of the plugin it gives up all that computing does not
// need: Landlock limits the files that can be opened, a seccomp filter the system calls.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "plugin/discovery/rejection.hpp"

namespace deputy::host {

// For the rest of the life of this process, which must have one thread only. What it may open afterwards:
//   to read: the folder of `plugin`, /usr, /lib*, /opt, the folders of $LD_LIBRARY_PATH, the dynamic linker's cache,
//   and
//     what the kernel says of the memory of this process, the CPUs and the memory of the system;
//   to write: /dev/null, full;
//   with `devices`, names or patterns below /dev, also the accelerators of these names, where there are any, with the
//     commands of their drivers, and to read what drivers need (/sys, /proc/driver, the loaders' lists in /etc).
// It can no longer start or signal a process, open or connect a socket, change how it is scheduled or limited, or what
// belongs to other processes, and has no capability, also where its user is root. No process of its user may trace it.
// Where the kernel has no Landlock or no filters, what it has is used (AvailableSandbox()).
//
// Fails with kLoadFailed where a right could not be given up, after which no plugin may be loaded.
std::optional<Rejection> EnterSandbox(const std::filesystem::path& plugin, const std::vector<std::string>& devices);

}  // namespace deputy::host
