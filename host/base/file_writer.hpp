// The one way the host writes files: under an unpredictable name in the same folder, then renamed, so that readers see
// the old file or the new one, never a part, and nothing but a regular file is ever replaced.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "base/status.hpp"

namespace deputy::host {

using FilePieces = std::span<const std::span<const uint8_t>>;

// How the names of unfinished files begin. One that is left over belongs to a process that was killed.
inline constexpr std::string_view kTemporaryPrefix = ".deputy-tmp-";

// Refuses a target that is a directory, device, pipe, socket or symbolic link. A file that is replaced hands its
// permissions on. Nothing is left behind on failure. After a loss of power the file is the old one or the new one.
// [any-thread]
Status WriteFileAtomically(const std::filesystem::path& path, FilePieces pieces);

// The same for `name` in an open folder; the caller adds to errors where that is.
Status WriteFileIn(int folder, const std::string& name, FilePieces pieces);

// From now on the signals that end a process from outside (hang-up, interrupt, quit, termination, limits of CPU time
// and file size) remove unfinished files first. Signals that the program handles or ignores itself stay as they are.
void RemoveTemporariesOnSignals();

}  // namespace deputy::host
