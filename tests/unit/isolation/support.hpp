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
#include "plugin/discovery/loaded_plugin.hpp"
#include "plugin/discovery/manifest.hpp"
#include "plugin/discovery/plugin_file.hpp"
#include "plugin/proxy/delegate_proxy.hpp"

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

// The first delegate of a plugin in a worker process, with all checks of the host around it; null if it cannot be
// opened.
inline std::unique_ptr<Delegate> OpenServed(std::shared_ptr<RemotePlugin> remote, const std::filesystem::path& path,
                                            OpenRequest request) {
  const auto file = PluginFile::Open(path);
  if (RejectionOf(file) != nullptr) return nullptr;
  const PluginFile& opened = *std::get<0>(file);
  auto manifest = ReadManifest(opened, ThisHost());
  if (RejectionOf(manifest) != nullptr) return nullptr;
  const deputy_plugin* const table = remote->table();
  auto plugin =
      LoadedPlugin::AdoptServed({path, opened.identity(), std::get<0>(std::move(manifest))}, table, std::move(remote));
  if (RejectionOf(plugin) != nullptr || table->delegate_count(table) == 0) return nullptr;
  const deputy_str& id = table->delegate_at(table, 0)->id;
  request.delegate = std::string(id.data, id.size);
  Result<std::unique_ptr<Delegate>> delegate = DelegateProxy::Open(std::get<0>(std::move(plugin)), request);
  return delegate.ok() ? *std::move(delegate) : nullptr;
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
