// The probing side of plugin/probe.hpp.
#pragma once

#include <cstdint>
#include <filesystem>

namespace deputy::host {

// Loads the plugin and answers on kWorkerReplyFd. False if the answer could not be written.
bool RunProbe(const std::filesystem::path& plugin, uint64_t nonce);

}  // namespace deputy::host
