// The second gate: reads a plugin's description in a process of its own, and opens each of its delegates and compiles
// one node there, so that faults of its constructors and first functions do not affect this one.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "plugin/discovery/description.hpp"
#include "plugin/discovery/rejection.hpp"

namespace deputy::host {

struct ProbeOptions {
  std::filesystem::path worker;             // the program deputy-worker
  std::chrono::milliseconds timeout{2000};  // until it has described its delegates; then five times that to try them
  bool sandbox = true;                      // else the process keeps the user's rights and environment
  std::vector<std::string> environment;  // patterns of variables that it gets in a sandbox, as WorkerProcess::Options
};

// `plugin` is absolute and has passed the first gate. Returns within six times the timeout plus the time to kill the
// process. Never falls back to loading the plugin here: without the worker program nothing is probed. [any-thread]
// `mapped`, if not null, receives the libraries that the plugin is known to have mapped, also where it failed.
Checked<PluginDescription> Probe(const std::filesystem::path& plugin, const ProbeOptions& options,
                                 std::vector<PluginPart>* mapped = nullptr);

}  // namespace deputy::host
