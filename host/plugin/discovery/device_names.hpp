// Device files that a plugin's manifest lists (key `devices` of sdk/include/deputy/abi/note.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace deputy::host {

// A path below /dev that may hold the wildcards '*' and '?', without "." and ".." between its slashes.
bool IsDeviceName(std::string_view name);

// Whether the files of this name are those of an accelerator's driver, which a sandboxed plugin is given. Others, as of
// disks, terminals and memory, are never given.
bool IsAccelerator(std::string_view name);
// Whether one of them is.
bool HasAccelerator(const std::vector<std::string>& names);

}  // namespace deputy::host
