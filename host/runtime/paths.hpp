// Where this installation keeps what it opens at run time, found from where libdeputy itself was loaded.
#pragma once

#include <filesystem>

namespace deputy::host {

// "<folder of libdeputy>/deputy": plugins/, importers/ and deputy-worker. `$deputy` in a YAML stands for it.
std::filesystem::path PrivateFolder();

}  // namespace deputy::host
