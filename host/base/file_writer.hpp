// The only way in which the host writes files: under an unpredictable name in the same folder, then renamed, so that
// readers see the old file or the new one, never a part, and only a regular file is ever replaced.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "base/status.hpp"

namespace deputy::host {

using FilePieces = std::span<const std::span<const uint8_t>>;

// Prefix of the names of unfinished files. A leftover one belongs to a process that was killed.
inline constexpr std::string_view kTemporaryPrefix = ".deputy-tmp-";

// Refuses a target that is a directory, device, pipe, socket or symbolic link. The new file keeps the permissions of
// the one that it replaces. Nothing is left behind on failure. After a loss of power the file is the old one or the new
// one. [any-thread]
Status WriteFileAtomically(const std::filesystem::path& path, FilePieces pieces);

// Whether its target may be written, as far as that is known before.
Status CheckTarget(const std::filesystem::path& path);

// The same for `name` in an open folder; the caller adds the folder's path to errors. Without `flush` the disk is not
// waited for, and after a loss of power the file may be damaged: for files that detect this and can be made again.
Status WriteFileIn(int folder, const std::string& name, FilePieces pieces, bool flush = true);

// From now on the signals that end a process from outside (hang-up, interrupt, quit, termination, limits of CPU time
// and file size) remove unfinished files first. Signals that the program handles or ignores itself are left unchanged.
void RemoveTemporariesOnSignals();

}  // namespace deputy::host
