// Maps addresses of code in this process to plugins, also for threads that a plugin started and for code that runs when
// the process ends.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "plugin/checks/thread_keeper.hpp"

namespace deputy::host {

// "plugin com.example.npu (npu.so)"
std::string PluginLabel(std::string_view id, std::string_view origin);

// Remembers the library that `code` lies in under `label`, for ever, as plugins stay mapped. [load-time]
void AddPluginCode(const void* code, std::string_view label);

// The label of the plugin that the address belongs to; empty for all other code. Safe in signal handlers. [any-thread]
std::string_view PluginAt(const void* code) noexcept;
// The label for the innermost frame of this thread's stack that is a plugin's. Safe in signal handlers in practice: the
// unwinder takes no lock since glibc 2.35, and is loaded with the first plugin.
std::string_view PluginOnStack() noexcept;

// A call of a function of a table whose plugin is not known otherwise.
template <class Function>
CallSite SiteOf(Function* code, const char* function) noexcept {
  const std::string_view label = PluginAt(reinterpret_cast<const void*>(code));
  return {label.empty() ? std::string_view("plugin of the application") : label, function};
}

}  // namespace deputy::host
