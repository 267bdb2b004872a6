// What an entry of the store was made from and by, for people and tools. Nothing that reads the entry's bytes depends
// on it.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace deputy::host {

// Texts are empty where they do not apply.
struct EntryOrigin {
  std::string model;                        // its file name, or the name of a model from memory
  std::string plugin, version;              // id and version
  std::string file;                         // of the plugin, as it was found
  std::string build;                        // of the plugin, with the files and libraries that count as it
  std::string delegate, device;             // ids
  std::vector<std::string> libraries = {};  // that the plugin had mapped: absolute paths
  bool operator==(const EntryOrigin&) const = default;
};

// The text of an entry with its origin behind it, in at most `limit` bytes: an origin that does not fit is left out.
std::string WithOrigin(std::string_view text, const EntryOrigin& origin, size_t limit);
// The text and the origin, which is empty where the entry has none.
std::pair<std::string, EntryOrigin> SplitOrigin(std::string_view stored);

}  // namespace deputy::host
