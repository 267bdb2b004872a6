// The probing side of plugin/probe.hpp.
#pragma once

#include <cstdint>
#include <filesystem>

namespace deputy::host {

// Loads the plugin, in the sandbox or with the user's rights, and answers on kWorkerReplyFd. False if the answer could
// not be written.
bool RunProbe(const std::filesystem::path& plugin, bool sandbox, uint64_t nonce);

}  // namespace deputy::host
