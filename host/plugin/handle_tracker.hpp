// Records the handles that the host lent to one checked delegate (`debug: {check: true}`): use of a handle after its
// lifetime is reported, and the handle is not read.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <set>
#include <string_view>
#include <vector>

#include "deputy/abi/delegate.h"

namespace deputy::host {

// [any-thread]
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
  struct Delete {
    void operator()(deputy_status* status) const;
  };
  mutable std::mutex mutex_;
  std::set<const deputy_graph*> graphs_;
  std::set<const deputy_status*> out_;
  std::vector<std::unique_ptr<deputy_status, Delete>> back_;
  bool closed_ = false;
};

}  // namespace deputy::host
