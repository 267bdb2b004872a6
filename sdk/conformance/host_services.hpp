// The kit's implementation of the host's side of the plugin ABI: statuses that are counted, a log that is kept, and
// graphs that are tracked during their lifetime. A plugin's errors with them are recorded as faults.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "deputy/abi/delegate.h"
#include "deputy/abi/ext/partition_helpers.h"

struct deputy_status {
  deputy_code code;
  deputy_node_id node;
  std::string message;
};

namespace deputy::conformance {

// The result of a plugin's function.
struct Outcome {
  deputy_code code = DEPUTY_OK;
  deputy_node_id node = DEPUTY_NO_NODE;
  std::string message;

  bool ok() const { return code == DEPUTY_OK; }
  std::string ToString() const;  // "not supported: no room on the device"
};

// [any-thread]
class HostServices {
 public:
  HostServices();

  const deputy_host* table() const { return &table_; }
  // Consumes a status that a function of the plugin returned.
  Outcome Take(deputy_status* status);
  // Ends a status that the plugin does not return.
  void Release(deputy_status* status);
  // Statuses that were made and not yet returned or released.
  size_t statuses_out() const;

  void AddGraph(const deputy_graph* graph);
  void RemoveGraph(const deputy_graph* graph);
  bool HasGraph(const deputy_graph* graph) const;

  // Called, if it is not empty, at the beginning of each function about a graph, on the plugin's thread; set while the
  // plugin is not running.
  void SetInterruption(std::function<void()> interruption) { interruption_ = std::move(interruption); }
  void Interrupt() const {
    if (interruption_) interruption_();
  }

  // A call by which a run may notice that it should end. `look` is called, if it is not empty, at the beginning of
  // each, on the plugin's thread; set while the plugin is not running.
  enum class Look { kClock, kParallelFor };
  void SetLook(std::function<void(Look)> look);
  // The plugin's clock. It never goes back.
  uint64_t ClockNs() const;
  void AdvanceClock(std::chrono::nanoseconds by) { ahead_ns_ += static_cast<uint64_t>(by.count()); }

  void Fault(std::string text);
  // Takes the faults so far.
  std::vector<std::string> TakeFaults();

  // The object behind a table that a plugin has.
  static HostServices& Of(void* self) { return *static_cast<HostServices*>(self); }
  deputy_status* NewStatus(deputy_code code, deputy_node_id node, std::string message);
  // NULL for an id that this host does not have.
  const void* Extension(const char* id);
  uint64_t LookAtClock();
  void ParallelFor(int64_t count, int64_t grain, deputy_parallel_fn fn, void* job);

 private:
  void CallLook(Look look);

  deputy_host table_{};
  deputy_ext_partition_helpers helpers_{};
  mutable std::mutex mutex_;
  std::map<deputy_status*, std::unique_ptr<deputy_status>> out_;
  std::vector<std::unique_ptr<deputy_status>> returned_;  // kept, so that a second return of one is noticed
  std::set<const deputy_graph*> graphs_;
  std::vector<std::string> faults_;
  std::function<void()> interruption_;
  std::shared_ptr<const std::function<void(Look)>> look_;
  std::atomic<uint64_t> ahead_ns_{0};
};

const char* CodeName(deputy_code code);

}  // namespace deputy::conformance
