// The second gate: asks a plugin who it is in a process of its own, so that whatever its constructors and its first
// functions do, they do it there.
#pragma once

#include <chrono>
#include <filesystem>

#include "plugin/description.hpp"
#include "plugin/rejection.hpp"

namespace deputy::host {

struct ProbeOptions {
  std::filesystem::path worker;  // the program deputy-worker
  std::chrono::milliseconds timeout{2000};
};

// `plugin` is absolute and has passed the first gate. Returns within the timeout plus the moment that killing takes.
// Never falls back to loading the plugin here: without the worker program nothing is probed. [any-thread]
Checked<PluginDescription> Probe(const std::filesystem::path& plugin, const ProbeOptions& options);

}  // namespace deputy::host
