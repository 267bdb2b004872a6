// What the tests of host/isolation share: plugins in worker processes and in this one, and the host that they are
// given.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "deputy/abi/delegate.h"
#include "isolation/remote_plugin.hpp"

namespace deputy::host::testing {

// The functions of the ABI: "deputy_delegate.open".
inline constexpr const char* kSlots[] = {
#include "abi_slots.inc"
};

inline std::filesystem::path EverySlotPath() { return EVERY_SLOT_PLUGIN; }

inline std::shared_ptr<RemotePlugin> Remote(const std::filesystem::path& file, RemotePluginOptions options = {}) {
  options.worker = DEPUTY_WORKER;
  options.file = file;
  Result<std::shared_ptr<RemotePlugin>> plugin = RemotePlugin::Start(options);
  EXPECT_TRUE(plugin.ok()) << plugin.status().ToString();
  return plugin.ok() ? *plugin : nullptr;
}

inline const deputy_plugin* InProcess(const std::filesystem::path& file) {
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(library, nullptr) << dlerror();
  const auto query = reinterpret_cast<deputy_plugin_query_fn>(dlsym(library, DEPUTY_ENTRY_SYMBOL));
  return query(DEPUTY_ABI_VERSION, nullptr);
}

inline std::vector<std::string> FilesIn(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) names.push_back(entry.path().filename());
  return names;
}
inline size_t OpenDescriptors() { return FilesIn("/proc/self/fd").size(); }

}  // namespace deputy::host::testing
