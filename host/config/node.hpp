// The small tree between YAML text and the schema: texts and their positions. Nothing is interpreted yet: a plain
// scalar is its text, and whether it was quoted.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/origin.hpp"

namespace deputy::host {

struct YamlEntry;

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

}  // namespace deputy::host
