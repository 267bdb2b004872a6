// A plugin's shared object mapped into this process, for good: static destructors, thread-locals and threads of vendors
// make unloading unsafe, so a loaded library stays until the process ends.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "deputy/abi/delegate.h"
#include "plugin/discovery/manifest.hpp"
#include "plugin/discovery/rejection.hpp"

namespace deputy::host {

// Sets the manifest's environment variables that are not set yet. Not safe while other threads read the environment:
// models are loaded before they run.
void ApplyEnvironment(const Manifest& manifest);

class Library {
 public:
  // `path` is absolute. Runs the library's constructors. Names a missing dependency or symbol in the refusal. `label`
  // names the library's code in the report when it ends the process.
  static Checked<std::unique_ptr<Library>> Open(const std::filesystem::path& path, const std::string& label);
  ~Library();

  deputy_plugin_query_fn entry() const { return entry_; }
  // Of the mapped object; empty if it has none.
  std::vector<uint8_t> BuildId() const;

 private:
  struct Handle;
  Library(std::unique_ptr<Handle> handle, deputy_plugin_query_fn query);

  std::unique_ptr<Handle> handle_;
  deputy_plugin_query_fn entry_;
};

}  // namespace deputy::host
