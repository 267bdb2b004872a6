// Services of the host for plugins: the table `deputy_host`, one per plugin and one per opened delegate, so that the
// host can identify the caller.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/limited_log.hpp"
#include "base/thread_pool.hpp"
#include "delegate/partition_helpers.hpp"
#include "deputy/abi/ext/partition_helpers.h"
#include "deputy/abi/host.h"
#include "plugin/checks/handles.hpp"

namespace deputy::host {

class HostServices {
 public:
  // `source`: the name in the log. `pool` may be null: parallel_for then runs on the calling thread alone; otherwise it
  // must outlive the services. `helpers` may be null: plugins then do not find the extension; otherwise they must
  // outlive the services. `check`: handles that the plugin uses are compared with a tracker.
  HostServices(std::string source, ThreadPool* pool, const PartitionHelpers* helpers = nullptr, bool check = false);
  HostServices(const HostServices&) = delete;
  HostServices& operator=(const HostServices&) = delete;

  const deputy_host* table() const { return &table_; }
  const std::string& source() const { return log_.source(); }
  // A line of the plugin; those that come too fast are dropped. [any-thread]
  void Log(LogLevel level, std::string_view text) const { log_.Line(level, text); }
  // When no more lines are expected: how many were dropped.
  void ReportDroppedLines() const { log_.ReportDropped(); }
  ThreadPool* pool() const { return pool_; }
  const void* Extension(std::string_view id) const;
  // Null where nothing is checked.
  HandleTracker* handle_tracker() const { return handle_tracker_.get(); }
  // The graph, or null after a line of log: the delegate is checked, and has not been lent it.
  const deputy_graph* Lent(const char* function, const deputy_graph* graph) const;
  // False after a line of log: the delegate is checked, and was closed before.
  bool IsOpen(const char* function) const;

 private:
  void Complain(const char* function, const char* fault) const noexcept;

  mutable LimitedLog log_;
  ThreadPool* pool_;
  deputy_host table_;
  std::optional<deputy_ext_partition_helpers> helpers_;
  std::unique_ptr<HandleTracker> handle_tracker_;
};

}  // namespace deputy::host
