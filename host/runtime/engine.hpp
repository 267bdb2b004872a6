// The opened delegates of a context, with the threads, the passes and the rules that they share. Delegates take calls
// from any thread: each has a lock of its own for those that may not overlap.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/machine_load.hpp"
#include "base/mutex.hpp"
#include "base/thread_pool.hpp"
#include "config/config.hpp"
#include "deputy/placement.hpp"
#include "deputy/progress.hpp"
#include "graph/passes/passes.hpp"
#include "isolation/shared_arenas.hpp"
#include "partition/hosted_delegate.hpp"
#include "partition/placement.hpp"
#include "plan/health.hpp"
#include "plan/verdicts.hpp"
#include "store/store.hpp"

namespace deputy::host {

class IncidentLog;

// Policy `measured`.
struct MeasureSettings {
  uint64_t budget_ns = 0;
  double margin = 0;
  LoadMeter load = {};  // since the context was made
};

// `debug: {dump}`.
struct DumpSettings {
  bool graph = false, placement = false, plan = false, tensors = false;
  std::filesystem::path folder;
};

// `limits: {...}`; 0: no limit.
struct SessionLimits {
  uint64_t loop_steps = 0;
  uint64_t timeout_ns = 0;
  size_t memory_bytes = 0;
};

struct Engine {
  std::shared_ptr<ThreadPool> pool;
  std::shared_ptr<SharedArenas> arenas;        // memory that worker processes read; null: no delegate has one
  std::vector<HostedDelegate> delegates;       // in order; the CPU is last
  std::map<std::string, EntryOrigin> plugins;  // file and libraries, by the name of the delegate
  std::vector<AbsentDelegate> absent;
  std::shared_ptr<IncidentLog> incidents;
  SessionLimits limits;
  FileAccess file_access = FileAccess::kMapped;  // to models' files
  size_t plans_kept = 16;                        // of each model, one for each set of shapes
  PassOptions passes;
  PlacementOptions placement;
  std::vector<Setting<std::string>> node_globs;  // of all rules
  std::shared_ptr<Store> store;                  // null: nothing is kept
  std::unique_ptr<Verdicts> verdicts;            // null: no results are verified
  std::optional<MeasureSettings> measure;        // none: placements follow from the order
  // Of all that a measured placement depends on besides the model and its shapes; none: it is not kept.
  std::optional<Digest> placement_digest;
  std::optional<DumpSettings> dump;
  std::atomic<size_t> plans_dumped{0};            // of all models, which may have one name
  std::function<void(const Progress&)> progress;  // may be empty
  // The partition that is being compiled. [any-thread]
  struct Compiling {
    std::string model;
    size_t number = 0, count = 0, nodes = 0;
  };
  void SetCompiling(Compiling next) const {
    const MutexLock lock(mutex_);
    compiling_ = std::move(next);
  }
  Compiling compiling() const {
    const MutexLock lock(mutex_);
    return compiling_;
  }
  // Options that were set since the delegates were opened, by delegate and name. [any-thread]
  using SetOptions = std::map<std::pair<std::string, std::string>, std::string>;
  void KeepOption(const std::string& delegate, const std::string& option, const std::string& value) {
    const MutexLock lock(mutex_);
    options_[{delegate, option}] = value;
  }
  SetOptions set_options() const {
    const MutexLock lock(mutex_);
    return options_;
  }
  void Report(const Progress& stage) const {
    if (progress) progress(stage);
  }

 private:
  mutable Mutex mutex_;
  mutable Compiling compiling_ DEPUTY_GUARDED_BY(mutex_);
  SetOptions options_ DEPUTY_GUARDED_BY(mutex_);
};

// Of `passes: {...}`, with the kernels of the CPU.
PassOptions PassOptionsOf(const PassesConfig& config);

// All errors in one, a line each, with the code of the first; OK where none of these is an error.
Status Joined(const std::vector<Status>& errors);

// The store of `cache: {...}`; null if it is off.
std::unique_ptr<Store> OpenStore(const Config& config);

}  // namespace deputy::host
