// Handles of the host in a plugin: the statuses that deputy_host.status_new makes and their conversion to a Status of
// the host, and the tracker of a checked delegate's handles.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "deputy/abi/host.h"

namespace deputy::host {
class HandleTracker;
}  // namespace deputy::host

// Opaque to plugins.
struct deputy_status {
  deputy_code code = DEPUTY_OK;
  deputy_node_id node = DEPUTY_NO_NODE;
  std::string message;
  deputy::host::HandleTracker* tracker = nullptr;  // that of a delegate which is checked; lives longer
};

namespace deputy::host {

// Never null: without memory it is a shared status that says so. [any-thread]
deputy_status* NewStatus(deputy_code code, deputy_node_id node, std::string_view message,
                         HandleTracker* tracker = nullptr) noexcept;

struct FreeStatus {
  void operator()(deputy_status* status) const noexcept;
};
using StatusHandle = std::unique_ptr<deputy_status, FreeStatus>;

// The answer of one of the host's sinks to a plugin. `take` reads the argument and returns its fault, or nothing;
// `keep` receives the fault. Nothing is thrown through the plugin.
template <class Take, class Keep>
deputy_status* AnswerOfSink(Take&& take, Keep&& keep) noexcept {
  try {
    const std::string fault = take();
    if (fault.empty()) return nullptr;
    keep(fault);
    return NewStatus(DEPUTY_INVALID_ARGUMENT, DEPUTY_NO_NODE, fault);
  } catch (...) {
    return NewStatus(DEPUTY_OUT_OF_MEMORY, DEPUTY_NO_NODE, "");
  }
}

// The plugin's failure as a Status. A code that plugins may not use (OK with a text, 9999) is the plugin's fault.
Status ToStatus(const deputy_status& status);

// Is `code` one of the failures of deputy/abi/base.h?
bool IsFailureCode(deputy_code code);

// Records the handles that the host lent to one checked delegate (`debug: {check: true}`): use of a handle after its
// lifetime is reported, and the handle is not read. [any-thread]
class HandleTracker {
 public:
  void Lend(const deputy_graph* graph);
  void Release(const deputy_graph* graph);
  bool IsLent(const deputy_graph* graph) const;

  // Statuses that the plugin holds and must return. Returned ones stay readable, so that a second return is detected.
  void Made(deputy_status* status);
  void Returned(deputy_status* status);
  bool WasReturned(const deputy_status* status) const;
  size_t statuses_out() const;

  // The instance is closed; later calls of the plugin are reported.
  void Close();
  bool closed() const;

 private:
  mutable std::mutex mutex_;
  std::set<const deputy_graph*> graphs_;
  std::set<const deputy_status*> out_;
  std::vector<std::unique_ptr<deputy_status>> returned_;
  bool closed_ = false;
};

}  // namespace deputy::host
