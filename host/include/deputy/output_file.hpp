// Files that a program writes, as Deputy writes its own: whole or not at all.
#pragma once

#include <string>
#include <string_view>

#include "deputy/export.hpp"
#include "deputy/status.hpp"

namespace deputy {

// Writes under an unpredictable name in the same folder, then renames. A directory, device, pipe, socket or symbolic
// link under the name is refused and left as it is. kInvalidArgument, kUnavailable. [any-thread]
DEPUTY_API Status WriteOutputFile(const std::string& path, std::string_view content);

// For programs, to be called once at the start: signals that end the process from outside (SIGHUP, SIGINT, SIGQUIT,
// SIGTERM, SIGXCPU, SIGXFSZ) first remove files that Deputy has begun to write. Those that the program handles or
// ignores stay as they are.
DEPUTY_API void RemoveUnfinishedFilesOnSignals();

}  // namespace deputy
