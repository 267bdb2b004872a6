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

// The accelerators that this machine has of these names and patterns, below /dev, each once.
std::vector<std::string> AcceleratorsHere(const std::vector<std::string>& names);
// The character devices that a pattern finds below a folder, as names below it; no links.
std::vector<std::string> CharacterDevices(const std::string& folder, const std::string& pattern);

// The commands (ioctl) of an accelerator's driver, by the second of their bytes from below. Three stand for less than
// all commands with that byte, because others use it too:
//   kPlainCommands: numbers below 256 but those of files (FIBMAP, FIGETBSZ), and the two larger ones of nvidia-uvm;
//   kHailoTransfers: those whose argument is not a number, which the versions of files are;
//   kRockchipCommands: those below 16, to which attributes of files on FAT do not belong.
inline constexpr char kPlainCommands = 0, kHailoTransfers = 'v', kRockchipCommands = 'r';
std::string CommandsOf(const std::vector<std::string>& devices);

}  // namespace deputy::host
