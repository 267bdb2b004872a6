// Files installed with the program: <prefix>/bin/deputy, <prefix>/share/deputy. The build tree has the same layout.
#pragma once

#include <filesystem>

namespace deputy::cli {

// <prefix>/share/deputy of the running program; empty if the system does not report the program's path.
std::filesystem::path ShareFolder();

}  // namespace deputy::cli
