// The environment of a worker process: variables that computing may need, and none of the application's secrets.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace deputy::host {

// Folders that a sandbox lets its process read, one in each line: added to the environment by the host.
inline constexpr std::string_view kReadableVariable = "DEPUTY_READABLE";

// Whether `text` is a name, or the beginning of names followed by '*': "ONEDNN_*"; "*" is each name.
bool IsVariablePattern(std::string_view text);

// Variables of this process, as "NAME=VALUE": those of a short list, which host/docs/isolation.md has, and those that
// one of the patterns matches. Patterns of the form NAME=VALUE are variables to add, in place of this process's.
std::vector<std::string> WorkerEnvironment(std::span<const std::string> patterns);

}  // namespace deputy::host
