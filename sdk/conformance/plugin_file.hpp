// Facts about a plugin's file that need no loading: the manifest in its ELF note, and the exported symbols.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "deputy/abi/note.h"

namespace deputy::conformance {

struct PluginFile {
  std::string fault;  // why the file could not be read as a plugin; then nothing else is set
  bool has_note = false;
  deputy_note_head note{};
  std::vector<std::pair<std::string, std::string>> lines;  // of the note, in order
  std::vector<std::string> exports;                        // defined and visible
  std::vector<std::string> unique;                         // of them: one serves the whole process (STB_GNU_UNIQUE)

  // The value of the first line with this key; "" without one.
  std::string Line(const std::string& key) const;
  // The parts of the value, which are separated by commas.
  std::vector<std::string> List(const std::string& key) const;

  static PluginFile Read(const std::string& path);
};

}  // namespace deputy::conformance
