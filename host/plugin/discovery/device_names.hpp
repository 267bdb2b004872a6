// Device files that a plugin's manifest lists (key `devices` of sdk/include/deputy/abi/note.h).
#pragma once

#include <string_view>

namespace deputy::host {

// A path below /dev that may hold the wildcards '*' and '?', without "." and ".." between its slashes.
bool IsDeviceName(std::string_view name);

// Whether the files of this name are those of an accelerator's driver, which a sandboxed plugin is given. Others, as of
// disks, terminals and memory, are never given.
bool IsAccelerator(std::string_view name);

}  // namespace deputy::host
