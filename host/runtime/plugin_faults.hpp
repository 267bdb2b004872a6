// Which contents of models have ended the worker process of a plugin, and what follows: a content that does so twice is
// kept away from the plugin, in that model; and once it did so in two models, in all. So is all of a model with too
// many such faults. The plugin itself is given up when faults come with different models, or with none.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/digest.hpp"
#include "base/fault_limits.hpp"
#include "base/mutex.hpp"
#include "base/status.hpp"

namespace deputy::host {

// What a worker had in work: a partition, or a graph as a whole. Names are those of the model, and may hold any bytes.
struct FaultContent {
  Digest content{}, model{};
  std::string model_name, part;  // "partition npu0/0 of 3 nodes"

  bool IsSame(const FaultContent& other) const { return content == other.content && model == other.model; }
};

// The faults with one content in one model: it may be the data of that model that the plugin cannot compute.
struct FaultRecord {
  FaultContent content;
  uint32_t count = 0;
  // Of those in which the worker had no content of another model in work.
  uint32_t alone = 0;
  std::string text;  // of the last one: "was ended by SIGSEGV"
  std::chrono::system_clock::time_point last;
  FaultLimits limits = {};  // under which the process failed

  static constexpr uint32_t kMost = 2;      // after which the content is kept away
  static constexpr size_t kMostModels = 2;  // in which it was, before it is in all others
  // Of the calls that have no part of a model: the plugin itself, of which nothing can be kept away.
  bool is_of_plugin() const { return content.content == Digest(); }
  bool is_kept_away() const { return count >= kMost && !is_of_plugin(); }
};

// Adds the fault to the records, of which only the latest are kept. `apart`: faults under other limits remain records
// of their own.
void AddFault(std::vector<FaultRecord>& records, FaultRecord fault, bool apart = false);
// Those of the records that count for processes with these limits.
std::vector<FaultRecord> CountingWith(const std::vector<FaultRecord>& records, const FaultLimits& limits);

struct FaultHandling {
  // Gets the faults as a sentence when they were too many for any use of the plugin, and the limits that they had.
  std::function<void(const std::string& faults, const FaultLimits& limits)> give_up = {};
  std::vector<FaultRecord> known = {};  // of earlier processes, as far as they count here
  // Keeps one more fault, and returns all that are kept and count here; nothing where none can be kept.
  std::function<std::optional<std::vector<FaultRecord>>(const FaultRecord& fault)> keep = {};
};

// [any-thread]
class PluginFaults {
 public:
  static constexpr size_t kMostModels = 3;     // with faults within kWindow: the plugin is given up
  static constexpr uint32_t kMostOfModel = 6;  // faults with contents of one model, before all of it is kept away
  static constexpr std::chrono::minutes kWindow{5};
  static constexpr size_t kMostRecords = 256;

  explicit PluginFaults(FaultHandling handling);

  // A fault of the worker with this content in work; none where no call had begun. `alone`: no other model was in work.
  // `kept`: also for other processes.
  void Count(const std::string& fault, const std::optional<FaultContent>& content, bool alone, bool kept,
             FaultLimits limits = {});
  // Whether any content is kept away; never waits.
  bool keeps_any_away() const { return keeps_any_away_.load(std::memory_order_relaxed); }
  // kPlugin for a content that is kept away.
  Status Check(const FaultContent& content) const;
  // kUnavailable once the plugin was given up.
  Status given_up() const;

 private:
  void Judge(const std::string& fault) DEPUTY_REQUIRES(mutex_);

  const FaultHandling handling_;
  mutable Mutex mutex_;
  std::vector<FaultRecord> records_ DEPUTY_GUARDED_BY(mutex_);
  std::string given_up_ DEPUTY_GUARDED_BY(mutex_);
  std::atomic<bool> keeps_any_away_{false};
};

}  // namespace deputy::host
