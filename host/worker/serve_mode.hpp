// The serving side of isolation/remote_plugin.hpp.
#pragma once

#include <filesystem>

namespace deputy::host {

// Loads the plugin, says so on kWorkerReplyFd, and serves calls until the host closes that socket. Does not return.
[[noreturn]] void RunServe(const std::filesystem::path& plugin);

}  // namespace deputy::host
