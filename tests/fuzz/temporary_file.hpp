// Files for interfaces of the host that take a path, in a folder of this process that is removed at its end.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "fuzz/bytes.hpp"

namespace deputy::fuzz {

// In memory where the system has such a folder; made by the first call. Forked children must not use it.
const std::filesystem::path& TemporaryFolder();

// Replaces the contents; the process ends where the system refuses.
void WriteFile(const std::filesystem::path& path, std::span<const uint8_t> bytes);
Bytes ReadFile(const std::filesystem::path& path);

}  // namespace deputy::fuzz
