// A delegate of a worker process: its table and those of its extensions. Instances, executables and contexts are tokens
// of objects in the worker.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "deputy/abi/delegate.h"
#include "deputy/abi/ext/blob.h"
#include "deputy/abi/ext/capabilities.h"
#include "deputy/abi/ext/concurrency.h"
#include "deputy/abi/ext/device_control.h"
#include "deputy/abi/ext/devices.h"
#include "deputy/abi/ext/draft/async.h"
#include "deputy/abi/ext/draft/memory.h"
#include "deputy/abi/ext/draft/scheduling.h"
#include "deputy/abi/ext/estimate.h"
#include "deputy/abi/ext/operators.h"
#include "deputy/abi/ext/options.h"
#include "deputy/abi/ext/profiling.h"
#include "deputy/abi/ext/propose.h"
#include "deputy/abi/ext/resize.h"
#include "isolation/call.hpp"
#include "isolation/run_limit.hpp"
#include "isolation/run_transfer.hpp"
#include "isolation/worker_link.hpp"

namespace deputy::host {

class RemoteDelegate {
 public:
  // `form` lives as long.
  RemoteDelegate(WorkerLink& link, uint32_t index, DelegateForm& form);
  RemoteDelegate(const RemoteDelegate&) = delete;
  RemoteDelegate& operator=(const RemoteDelegate&) = delete;

  const deputy_delegate* table() const { return &table_; }
  WorkerLink& link() const { return link_; }
  const DelegateForm& form() const { return form_; }
  // What every call for the delegate begins with.
  DelegateCall CallWith(const deputy_host* host) const { return {index_, FormOf(host)}; }

  static RemoteDelegate& Of(const deputy_delegate* self) { return *static_cast<RemoteDelegate*>(self->impl); }

 private:
  void FillCore();
  void FillExtensions();     // that are about placement and the device
  void FillRunExtensions();  // that are about blobs and runs
  void FillMemory();
  void FillQueues();
  static const void* GetExtension(const deputy_delegate* self, const char* id);

  WorkerLink& link_;
  const uint32_t index_;
  DelegateForm& form_;
  deputy_delegate table_{};
  deputy_ext_async async_{};
  deputy_ext_blob blob_{};
  deputy_ext_capabilities capabilities_{};
  deputy_ext_concurrency concurrency_{};
  deputy_ext_device_control device_control_{};
  deputy_ext_devices devices_{};
  deputy_ext_estimate estimate_{};
  deputy_ext_memory memory_{};
  deputy_ext_operators operators_{};
  deputy_ext_options options_{};
  deputy_ext_profiling profiling_{};
  deputy_ext_propose propose_{};
  deputy_ext_resize resize_{};
  deputy_ext_scheduling scheduling_{};
};

// Objects behind the opaque pointers of the ABI.
struct RemoteInstance {
  RemoteInstance(const RemoteDelegate& of, const deputy_host* opened_with) : delegate(of), host(opened_with) {}

  const RemoteDelegate& delegate;
  const deputy_host* host;
  uint64_t token = 0;
  std::atomic<uint32_t> submitted{0};  // runs that have not ended
  std::mutex mutex;
  std::set<std::string> texts;  // that were given out

  // A text of the worker, which lives as long as the instance; empty where there are too many. [any-thread]
  deputy_str Keep(deputy_str text);
  static RemoteInstance& Of(deputy_instance* self) { return *reinterpret_cast<RemoteInstance*>(self); }
};
struct RemoteExecutable {
  RemoteInstance& instance;
  uint64_t token = 0;

  static RemoteExecutable& Of(deputy_executable* self) { return *reinterpret_cast<RemoteExecutable*>(self); }
};
struct RemoteContext {
  RemoteInstance& instance;
  uint64_t token = 0;
  const deputy_profile_sink* sink = nullptr;  // while profiling is on
  KnownPlaces places = {};
  KnownRun run = {};
  RunLimit limit = {};

  static RemoteContext& Of(deputy_context* self) { return *reinterpret_cast<RemoteContext*>(self); }
};

// Copies what get_option or compatibility wrote in the worker.
void CopyWritten(const WrittenText& text, char* buffer, uint64_t capacity, uint64_t* size);

// Fills as much of `out` as the caller's struct has.
template <class T>
void Fill(const T& full, T* out) {
  const size_t room = std::min<size_t>(out->struct_size, sizeof(T));
  if (room > sizeof(uint32_t))
    std::memcpy(reinterpret_cast<char*>(out) + sizeof(uint32_t),
                reinterpret_cast<const char*>(&full) + sizeof(uint32_t), room - sizeof(uint32_t));
}

// The function if the real table has it: its `index`-th.
template <class Function>
Function Slot(const TableForm& table, uint32_t index, Function function) {
  return (table.functions >> index & 1u) != 0 ? function : nullptr;
}

// Runs a call and gives its failure to the host as a status. Nothing is thrown through the table.
template <class Call>
deputy_status* ForHost(const deputy_host* host, Call&& call) noexcept {
  try {
    return call().ToStatus(host);
  } catch (...) {
    return host->status_new(host->self, DEPUTY_OUT_OF_MEMORY, DEPUTY_NO_NODE, "", 0);
  }
}

// A call for an object of an instance, with a payload behind its outcome, or without.
template <class Payload, class Args>
CallResult CallObject(const RemoteInstance& instance, Function function, uint64_t object, const Args& args,
                      CallScope scope, std::unique_ptr<Received<Reply<Payload>>>& payload) {
  scope.host = instance.host;
  RemoteCall call(instance.delegate.link(), function, scope);
  return call.Make(ObjectCall<Args>{object, args}, payload);
}
template <class Args>
CallResult CallObject(const RemoteInstance& instance, Function function, uint64_t object, const Args& args,
                      const CallScope& scope = {}) {
  std::unique_ptr<Received<Reply<Nothing>>> none;
  return CallObject(instance, function, object, args, scope, none);
}

}  // namespace deputy::host
