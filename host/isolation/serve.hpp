// A plugin in a worker process: all that the rest of the host sees of this folder.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/fault_limits.hpp"
#include "base/status.hpp"
#include "deputy/abi/delegate.h"
#include "isolation/shared_arenas.hpp"

namespace deputy::host {

struct RemotePluginOptions {
  std::filesystem::path worker;  // the program deputy-worker
  std::filesystem::path file;    // the plugin
  bool sandbox = true;           // else the process keeps the user's rights and environment
  // Patterns of variables that the process gets in a sandbox, beyond those of WorkerEnvironment.
  std::vector<std::string> environment = {};
  uint64_t memory_limit = 0;  // of what the process may hold, shared memory included, in bytes; 0: none
  // Of a plugin that opens other vendors' libraries: a number for the options with which it is opened. Faults count
  // where it is the same. 0: none.
  uint64_t opened = 0;
  // For the load of the library, and for a call that is not a run; for runs, 0: none,
  // kAutomaticTimeout: by the time of the first runs.
  std::chrono::milliseconds call_timeout{30000}, run_timeout{0};
  // For a compilation whose progress starts call_timeout again and again; call_timeout where that is longer.
  std::chrono::milliseconds call_timeout_total{600000};
  // How long each side polls for the other before it sleeps; without effect where the process may use one CPU alone.
  std::chrono::nanoseconds spin{50000};
  std::shared_ptr<SharedArenas> arenas = nullptr;  // whose memory the process reads without a copy; null: none
};

// Of the processes that serve a plugin with these options, in this system.
FaultLimits LimitsOf(const RemotePluginOptions& options);

struct RemoteTable {
  const deputy_plugin* table = nullptr;
  std::function<bool()> has_ended;  // whether the process has ended; never waits [any-thread]
  // How the process ended by a fault of its own, a hang included; empty while it lives, and where another process
  // killed it. [any-thread]
  std::function<std::string()> own_fault;
  // The limits under which it did. [any-thread]
  std::function<FaultLimits()> fault_limits;
  std::shared_ptr<void> keep;  // the process ends with it
};

// Starts a worker process and loads the plugin there.
Result<RemoteTable> ServePlugin(const RemotePluginOptions& options);

}  // namespace deputy::host
