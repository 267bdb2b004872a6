// YAML text to a tree with positions, through yaml-cpp's events alone: its nodes keep the first of two equal keys,
// expand alias bombs and overflow the stack on a cycle. Such input is refused here, before a tree exists.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/origin.hpp"

namespace deputy::host {

struct YamlEntry;

// Texts and their positions. Nothing is interpreted yet: a plain scalar is its text, and whether it was quoted.
struct YamlNode {
  // kInvalid: this was refused and has been reported; it is not checked again.
  enum class Kind { kNull, kScalar, kList, kMap, kInvalid };

  Kind kind = Kind::kNull;
  std::string text;     // kScalar
  bool quoted = false;  // kScalar: in quotes or a block, so that it is text and never a number
  Origin at;            // a null's is its key's
  std::vector<YamlNode> items;
  std::vector<YamlEntry> entries;  // keys are unique

  const YamlEntry* Find(std::string_view key) const;
};

struct YamlEntry {
  std::string key;
  Origin key_at;
  YamlNode value;
};

inline const YamlEntry* YamlNode::Find(std::string_view key) const {
  for (const YamlEntry& entry : entries)
    if (entry.key == key) return &entry;
  return nullptr;
}

// Hand-written files are a hundredth of this; the limits bound the cost of a hostile one.
inline constexpr size_t kMostConfigBytes = 256 * 1024;
inline constexpr size_t kMostConfigNodes = 20000;
inline constexpr size_t kMostConfigDepth = 16;
inline constexpr size_t kLongestKey = 256;

// Empty if no tree could be made, with the reasons in `problems`; problems may also accompany a tree. `lines` false:
// positions within `text` mean nothing to the user; it was an argument of --set.
std::optional<YamlNode> ReadYaml(std::string_view text, const std::string& source, bool lines, Problems& problems);

}  // namespace deputy::host
