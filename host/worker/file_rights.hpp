// The files that a worker process may open, by Landlock (https://docs.kernel.org/userspace-api/landlock.html).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace deputy::host {

// Of sandbox.hpp; `version` is that of the kernel's Landlock ABI, `devices` are accelerators below /dev. Also keeps
// signals and abstract sockets within the process, from version 6 on, and TCP out, from version 4 on. An error text, or
// empty.
std::string RestrictFiles(int version, const std::filesystem::path& plugin, const std::vector<std::string>& devices);

}  // namespace deputy::host
