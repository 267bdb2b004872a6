// `deputy_host` in a worker process. Statuses, threads and the clock are the worker's own; the log and the model are
// the host's.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/thread_pool.hpp"
#include "deputy/abi/ext/partition_helpers.h"
#include "deputy/abi/host.h"
#include "isolation/messages.hpp"
#include "plugin/proxy/host_services.hpp"

namespace deputy::host {

class WorkerHost : public HostServices {
 public:
  WorkerHost(std::string source, ThreadPool* pool);

  const deputy_host* table() const { return &table_; }
  // Makes it the mirror of another table of the host.
  void Become(const HostForm& form) { form_ = form; }
  uint64_t key() const { return form_.key; }
  bool has_helpers() const { return form_.has_helpers; }
  const deputy_ext_partition_helpers* helpers() const { return &helpers_; }

 private:
  void FillGraph();

  HostForm form_;
  deputy_host table_;
  deputy_ext_partition_helpers helpers_;
};

// Sends a line to the host's log: on the channel of the call that this thread is in, else on the control socket.
void SendLog(uint64_t host, deputy_log_level level, std::string_view message);

// The mirrors of the host's tables. A table that is given up is used again for another, and never ends: a thread that a
// plugin forgot may still use it.
class WorkerHosts {
 public:
  explicit WorkerHosts(std::string source) : source_(std::move(source)) {}

  // The mirror until as many calls of Release() follow. [any-thread]
  WorkerHost* Acquire(const HostForm& form);
  void Release(WorkerHost* host);

 private:
  struct Used {
    WorkerHost* host;
    uint32_t users;
  };
  const std::string source_;
  std::mutex mutex_;
  std::map<uint32_t, std::unique_ptr<ThreadPool>> pools_;  // by their number of threads
  std::map<uint64_t, Used> used_;
  std::vector<WorkerHost*> free_;
};

}  // namespace deputy::host
