// An open delegate, shared and kept alive by its proxy, executables and contexts. They call into the plugin only
// through it, and it checks the result of each call.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/limited_log.hpp"
#include "base/mutex.hpp"
#include "base/status.hpp"
#include "delegate/factory.hpp"
#include "deputy/abi/delegate.h"
#include "plugin/checks/call_watchdog.hpp"
#include "plugin/checks/handles.hpp"
#include "plugin/checks/process_keeper.hpp"
#include "plugin/discovery/loaded_plugin.hpp"
#include "plugin/discovery/table_check.hpp"
#include "plugin/proxy/buffer_names.hpp"
#include "plugin/proxy/graph_handle.hpp"
#include "plugin/proxy/host_services.hpp"
#include "plugin/proxy/run_queue.hpp"
#include "plugin/proxy/submitted_runs.hpp"

namespace deputy::host {

// Details of a call: its place, for the line that names it when the process ends, and the state compared around it.
struct CallDetail {
  std::string_view place = {};  // "node 'conv1' (Conv)"; outlives the call
  Watch watch = Watch::kFloatAndSignals;
};

// Calls a function of the plugin that makes an object. From its success on the object belongs to `own`, also if the
// host fails after it.
template <class Handle, class Function>
deputy_status* MakeOwn(Handle*& own, Function&& call) {
  Handle* made = nullptr;
  deputy_status* const failure = call(&made);
  if (failure == nullptr) own = made;
  return failure;
}

class OpenedDelegate {
 public:
  static Result<std::shared_ptr<OpenedDelegate>> Open(std::shared_ptr<LoadedPlugin> plugin, const OpenRequest& request);
  // Closes the instance. All objects of the instance keep this alive.
  ~OpenedDelegate();
  OpenedDelegate(const OpenedDelegate&) = delete;
  OpenedDelegate& operator=(const OpenedDelegate&) = delete;

  const LoadedPlugin& plugin() const { return *plugin_; }
  const deputy_delegate& table() const { return *table_; }
  deputy_instance* instance() const { return instance_; }
  const std::string& name() const { return services_->source(); }
  bool is_serial() const { return (table_->flags & DEPUTY_DELEGATE_SERIAL) != 0; }
  bool streams_constants() const { return (table_->flags & DEPUTY_DELEGATE_STREAMS_CONSTANTS) != 0; }
  const deputy_host* host() const { return services_->table(); }
  // Null: the delegate is not checked.
  HandleTracker* handle_tracker() const { return services_->handle_tracker(); }
  const std::string& device() const { return device_; }
  const std::string& driver() const { return driver_; }    // of the device
  bool is_accelerator() const { return is_accelerator_; }  // the device
  bool compile_only() const { return compile_only_; }
  int32_t priority() const { return priority_; }
  deputy_dtype precision() const { return precision_; }
  void ShowProgress(uint32_t permille, const std::string& step) const {
    if (progress_) progress_(permille, step);
  }
  // Extensions that executables and contexts use; null where the delegate lacks them.
  const deputy_ext_blob* blob() const { return blob_; }
  const deputy_ext_resize* resize() const { return resize_; }
  const deputy_ext_profiling* profiling() const { return profiling_; }
  const deputy_ext_memory* memory() const { return memory_; }
  const deputy_ext_async* async() const { return async_; }
  SubmittedRuns& submitted_runs() const { return *submitted_runs_; }       // with async()
  RunQueue* run_queue() const { return run_queue_.get(); }                 // null: its queues have no limits
  uint64_t domain() const { return domain_; }                              // of its buffers
  std::atomic<uint64_t>& device_losses() const { return device_losses_; }  // DeviceMemory::losses
  BufferNames& buffer_names() const { return buffer_names_; }

  // Calls a function of the plugin that returns a status. Its failure comes back with the place: the plugin, the
  // function, and the node where the plugin names one (found in `graph`, which may be null).
  template <class Function>
  Status Call(const char* function, const deputy_graph* graph, Function&& call, const CallDetail& detail = {}) const {
    deputy_status* raw = nullptr;
    if (!Returned(
            {plugin_->label(), function, detail.place}, [&] { raw = call(); }, detail.watch))
      return Fault(function, "it threw an exception");
    return Taken(function, graph, raw);
  }
  // The status that the plugin returned, or ended a run with; null is success. It is the host's.
  Status Taken(const char* function, const deputy_graph* graph, deputy_status* raw) const {
    if (raw == nullptr) return {};
    if (handle_tracker() != nullptr && handle_tracker()->WasReturned(raw))
      return Fault(function, "it returned a status a second time");
    return Failure(function, graph, StatusHandle(raw));
  }
  // The same for a function that returns nothing, as destroy functions do; a failure is logged.
  template <class Function>
  void CallVoid(const char* function, Function&& call, std::string_view place = {}) const {
    if (!Returned({plugin_->label(), function, place}, std::forward<Function>(call)))
      LogFault(function, "it threw an exception");
  }

  // A load-time call: one at a time for each instance, and none beside a run that may not overlap with it.
  template <class Function>
  Status CallLoading(const char* function, const deputy_graph* graph, Function&& call,
                     const CallDetail& detail = {}) const {
    const LoadTurn turn(*this);
    const WatchedCall watched(call_limit_, plugin_->label(), function, detail.place);
    const std::optional<ProcessKeeper> keeper = KeeperOf(function);
    return Call(function, graph, std::forward<Function>(call), detail);
  }
  template <class Function>
  void CallVoidLoading(const char* function, Function&& call, std::string_view place = {}) const {
    const LoadTurn turn(*this);
    const WatchedCall watched(call_limit_, plugin_->label(), function, place);
    const std::optional<ProcessKeeper> keeper = KeeperOf(function);
    CallVoid(function, std::forward<Function>(call), place);
  }

  // None for a plugin whose code is in another process, which it alone changes.
  std::optional<ProcessKeeper> KeeperOf(const char* function) const {
    return plugin_->is_served() ? std::nullopt
                                : std::optional<ProcessKeeper>(std::in_place, CallSite{plugin_->label(), function, {}});
  }

  // The turn of a call for an executable that counts as a run: where runs may not overlap it waits for the others.
  class RunTurn {
   public:
    RunTurn(const OpenedDelegate& opened, const deputy_executable* executable, const PassRequest& request = {}) {
      if (opened.limiter_ != nullptr) pass_.emplace(*opened.limiter_, &opened, executable, opened.run_rules_, request);
    }
    // False: the token of the request was due before.
    bool has_begun() const { return !pass_ || pass_->has_turn(); }

   private:
    std::optional<ConcurrencyLimiter::Pass> pass_;
  };

  // Whether runs may have to wait: for others, or for the end of a run that was submitted.
  bool limits_runs() const { return limiter_ != nullptr || async_ != nullptr; }
  // Runs that wait look at their tokens again. [any-thread]
  void WakeRuns() const {
    if (limiter_ != nullptr) limiter_->Wake();
    if (run_queue_ != nullptr) run_queue_->Wake();
    if (submitted_runs_ != nullptr) submitted_runs_->Wake();
  }

  // "plugin com.example.npu (npu.so): execute"
  std::string Place(const char* function) const;

  // The plugin broke its contract.
  Status Fault(const char* function, std::string fault) const;
  // For breaches whose only effect is that an answer is ignored.
  void LogFault(const char* function, std::string_view fault) const noexcept;

 private:
  OpenedDelegate(std::shared_ptr<LoadedPlugin> plugin, const deputy_delegate* table, const OpenRequest& request);
  class LoadTurn {
   public:
    explicit LoadTurn(const OpenedDelegate& opened) : lock_(opened.loading_) {
      if (opened.limiter_ != nullptr && !opened.run_rules_.loads)
        pass_.emplace(*opened.limiter_, &opened, nullptr, opened.run_rules_);
    }

   private:
    MutexLock<Mutex> lock_;
    std::optional<ConcurrencyLimiter::Pass> pass_;
  };

  Status Failure(const char* function, const deputy_graph* graph, StatusHandle status) const;
  Status AskConcurrency();
  // The device's driver may be another one than when the plugin was described.
  void AskDriver();

  std::shared_ptr<LoadedPlugin> plugin_;
  const deputy_delegate* table_;
  std::unique_ptr<HostServices> services_;
  mutable LimitedLog faults_;              // of the contract, of which a plugin may make any number
  ConcurrencyLimiter* limiter_ = nullptr;  // null: all calls may overlap
  RunRules run_rules_;
  mutable Mutex loading_;
  const deputy_ext_blob* blob_;
  const deputy_ext_resize* resize_;
  const deputy_ext_profiling* profiling_;
  const deputy_ext_memory* memory_;
  const deputy_ext_async* async_;
  SubmittedRuns* submitted_runs_ = nullptr;
  std::unique_ptr<RunQueue> run_queue_;
  const uint64_t domain_;
  mutable std::atomic<uint64_t> device_losses_{0};
  mutable BufferNames buffer_names_;
  std::string device_, driver_;
  bool is_accelerator_, compile_only_;
  int32_t priority_;
  deputy_dtype precision_;
  CallLimit call_limit_;
  std::function<void(uint32_t, const std::string&)> progress_;
  deputy_instance* instance_ = nullptr;
};

}  // namespace deputy::host
