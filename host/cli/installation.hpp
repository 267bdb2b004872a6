// What was installed beside the program: <prefix>/bin/deputy, <prefix>/share/deputy. The build tree has the same
// layout.
#pragma once

#include <filesystem>

namespace deputy::cli {

// <prefix>/share/deputy of the running program; empty where the system does not say which file that is.
std::filesystem::path ShareFolder();

}  // namespace deputy::cli
