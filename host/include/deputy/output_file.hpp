// Writes files of a program as Deputy writes its own: complete or not at all.
#pragma once

#include <string>
#include <string_view>

#include "deputy/status.hpp"

namespace deputy {

// Writes under an unpredictable name in the same folder, then renames. A directory, device, pipe, socket or symbolic
// link under the name is refused and left as it is. kInvalidArgument, kUnavailable. [any-thread]
Status WriteOutputFile(const std::string& path, std::string_view content);

// Whether such a file may be written: the folder exists, and what the name refers to may be replaced. For a check
// before long work; writing may still fail. Same codes. [any-thread]
Status CheckOutputFile(const std::string& path);

// For programs, to be called once at the start: signals that end the process from outside (SIGHUP, SIGINT, SIGQUIT,
// SIGTERM, SIGXCPU, SIGXFSZ) first remove the unfinished files of Deputy. Signals that the program handles or ignores
// are not changed.
void RemoveUnfinishedFilesOnSignals();

}  // namespace deputy

#ifndef DEPUTY_BUILDS_LIBRARY
#include "deputy/detail/output_file.hpp"  // IWYU pragma: export
#endif
