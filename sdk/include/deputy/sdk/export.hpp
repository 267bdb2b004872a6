// Making a plugin of delegates: DEPUTY_EXPORT_DELEGATE in one source of the library.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "deputy/sdk/plugin_tables.hpp"

// Written once, in CMake: deputy_add_delegate() defines them, and puts the same into the plugin's note.
#ifndef DEPUTY_PLUGIN_ID
#define DEPUTY_PLUGIN_ID ""
#endif
#ifndef DEPUTY_PLUGIN_VENDOR
#define DEPUTY_PLUGIN_VENDOR ""
#endif
#ifndef DEPUTY_PLUGIN_VERSION
#define DEPUTY_PLUGIN_VERSION ""
#endif

namespace deputy::sdk {
namespace detail {

template <class... Records>
std::unique_ptr<Plugin> MakePlugin(Records&&... made) {
  std::vector<std::unique_ptr<Record>> records;
  (records.push_back(std::forward<Records>(made)), ...);
  return std::make_unique<Plugin>(DEPUTY_PLUGIN_ID, DEPUTY_PLUGIN_VENDOR, DEPUTY_PLUGIN_VERSION, std::move(records));
}

// The tables are never destroyed: the host may use them until the process ends.
template <class Make>
const deputy_plugin* Query(uint32_t host_abi, Make make) noexcept {
  if (!CanServe(host_abi)) return nullptr;
  try {
    static const Plugin* const plugin = make().release();
    return plugin->table();
  } catch (...) {
    return nullptr;
  }
}

}  // namespace detail

}  // namespace deputy::sdk

// DEPUTY_EXPORT_DELEGATES(DEPUTY_DELEGATE(MyNpu, "my_npu", "NPU of the X1"), DEPUTY_DELEGATE(MyDsp, "my_dsp", "..."))
#define DEPUTY_DELEGATE(Class, id, description) ::deputy::sdk::detail::MakeRecord<Class>(id, description)
#define DEPUTY_EXPORT_DELEGATES(...)                                                                              \
  extern "C" DEPUTY_EXPORT const deputy_plugin* deputy_plugin_query_v1(uint32_t host_abi, const void*);           \
  extern "C" DEPUTY_EXPORT const deputy_plugin* deputy_plugin_query_v1(uint32_t host_abi, const void*) {          \
    return ::deputy::sdk::detail::Query(host_abi, [] { return ::deputy::sdk::detail::MakePlugin(__VA_ARGS__); }); \
  }
#define DEPUTY_EXPORT_DELEGATE(Class, id, description) DEPUTY_EXPORT_DELEGATES(DEPUTY_DELEGATE(Class, id, description))
