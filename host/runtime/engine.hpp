// The opened delegates of a context, with the threads, the passes and the rules that they share.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/thread_pool.hpp"
#include "delegate/delegate.hpp"
#include "graph/passes/passes.hpp"
#include "partition/placement.hpp"
#include "plan/health.hpp"
#include "store/store.hpp"

namespace deputy::host {

class IncidentLog;

struct Engine {
  std::shared_ptr<ThreadPool> pool;
  std::vector<std::shared_ptr<Delegate>> delegates;  // in order; the CPU is last
  std::vector<std::string> plugin_files;             // per delegate; empty for the CPU and in-process ones
  // Per delegate; null where a failure at run time ends the run: on_failure, required, check mode.
  std::vector<std::shared_ptr<DelegateHealth>> health;
  std::shared_ptr<IncidentLog> incidents;
  PassOptions passes;
  PlacementOptions placement;
  std::unique_ptr<Store> store;  // null: nothing is kept
  // Held while delegates answer and compile, which they do for one caller at a time.
  std::mutex load_mutex;
};

}  // namespace deputy::host
