// YAML text to a tree with positions, through yaml-cpp's events alone: its nodes keep the first of two equal keys,
// expand alias bombs and overflow the stack on a cycle. Such input is refused here, before a tree exists.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "config/node.hpp"

namespace deputy::host {

// Hand-written files are a hundredth of this; the limits bound the cost of a hostile one.
inline constexpr size_t kMostConfigBytes = 256 * 1024;
inline constexpr size_t kMostConfigNodes = 20000;
inline constexpr size_t kMostConfigDepth = 16;
inline constexpr size_t kLongestKey = 256;

// Empty if no tree could be made, with the reasons in `problems`; problems may also accompany a tree. `lines` false:
// positions within `text` mean nothing to the user, who typed it after --set.
std::optional<YamlNode> ReadYaml(std::string_view text, const std::string& source, bool lines, Problems& problems);

}  // namespace deputy::host
