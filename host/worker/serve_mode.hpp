// The serving side of isolation/remote_plugin.hpp.
#pragma once

#include <filesystem>

namespace deputy::host {

// Loads the plugin, in the sandbox or with the user's rights, says so on kWorkerReplyFd, and serves calls until the
// host closes that socket. Does not return.
[[noreturn]] void RunServe(const std::filesystem::path& plugin, bool sandbox);

}  // namespace deputy::host
