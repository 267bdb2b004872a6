// Where this installation keeps what it opens at run time, found from where libdeputy itself was loaded.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace deputy::host {

// "<folder of libdeputy>/deputy": plugins/, importers/ and deputy-worker. `$deputy` in a YAML stands for it.
std::filesystem::path PrivateFolder();

// Where compiled partitions are kept, of `cache: {dir: ...}`: nothing for "off", and for "auto" when the environment
// names no home; the folder itself for anything else.
std::optional<std::filesystem::path> CacheFolder(const std::string& setting);

}  // namespace deputy::host
