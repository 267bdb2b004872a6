// Folders of this installation that are used at run time, found from the path of the loaded libdeputy.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace deputy::host {

// "<folder of libdeputy>/deputy": plugins/, importers/ and deputy-worker. `$deputy` in a YAML file means this folder.
std::filesystem::path PrivateFolder();

// "<data>/deputy" of the installation: configs/, digits/. Found relative to PrivateFolder.
std::filesystem::path ShareFolder();
// The helper program in which plugins run first.
std::filesystem::path WorkerProgram();

// A variable of the environment. Nothing for programs with more rights than their caller: the caller chose them.
std::optional<std::string> Environment(const char* variable);
// The folder of the user that the variable names, or else `below_home` in HOME; nothing if neither is an absolute path.
std::optional<std::filesystem::path> UserFolder(const char* variable, const char* below_home);

// The folder of the store by `cache: {dir: ...}`: nothing for "off", and for "auto" when the environment has
// neither XDG_CACHE_HOME nor HOME; the folder itself for anything else.
std::optional<std::filesystem::path> CacheFolder(const std::string& setting);

}  // namespace deputy::host
