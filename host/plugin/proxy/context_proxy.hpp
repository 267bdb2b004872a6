// One session's state for a plugin's executable: runs it, resizes it, collects its events.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "plugin/proxy/executable_proxy.hpp"
#include "plugin/proxy/open_outputs.hpp"
#include "plugin/proxy/profiling.hpp"

namespace deputy::host {

class ContextProxy final : public ExecutionContext {
 public:
  // Made before the plugin is called, without a context.
  explicit ContextProxy(std::shared_ptr<const ExecutableProxy> executable);
  ~ContextProxy() override;

  deputy_context*& own() { return context_; }

  Status Execute(const RunArgs& args) override;
  Result<ResizeOutcome> Resize(std::span<const deputy_tensor* const> inputs,
                               std::span<const deputy_tensor* const> outputs) override;
  std::shared_ptr<DeviceMemory> device_memory() const override;
  MemoryWish WishOf(size_t index, const deputy_tensor& tensor) override;
  Status SetProfiling(bool on) override;
  void TakeEvents(std::vector<ProfileEvent>& into) override;

 private:
  // A call that counts as an execute: it waits for the concurrency limiter of the delegate, if there is one, but not
  // longer than until the token of the request is due.
  template <class Call>
  Status CallInTurn(const char* function, Call&& call, Watch watch = Watch::kFloatAndSignals,
                    const PassRequest& request = {});
  class HookedRun;
  void AskScratchSize();
  Status Run(const RunArgs& args, Watch watch);
  // Submits the run of args_ and waits for its end.
  Status RunSubmitted(Watch watch, const PassRequest& request);
  // Waits until the run has ended, cancels it when the token is due, and destroys it.
  Status EndOf(SubmittedRuns::Run& run, deputy_async_run* made, const CancellationToken* token);
  // The same for a run in a worker process, which has no sink: the delegate's wait returns when it has ended.
  Status AwaitEndOf(deputy_async_run* made, const CancellationToken* token);
  class AwaitedRun;
  void CancelSubmitted(deputy_async_run* made) noexcept;
  // The first run, and the first after a resize: outputs that it does not write are an error.
  Status RunFirst(const RunArgs& args);
  // The run of a checked delegate.
  Status RunGuarded(const RunArgs& args);
  Status RunBetweenGuards(const RunArgs& args);
  // Keeps the events of the run that just ended, in the order in which they began: before the next run the device may
  // discard them and stop its clock.
  void KeepEvents();
  // Converts times of the device's clock to the host's, if the delegate can correlate the two.
  void Correlate(std::vector<ProfileEvent>& events) const;

  std::shared_ptr<const ExecutableProxy> executable_;
  const OpenedDelegate& opened_;
  deputy_context* context_ = nullptr;
  OpenOutputs open_;
  const bool can_cancel_;  // the delegate cancels a run within execute
  deputy_run_args args_{};
  std::mutex awaited_mutex_;
  deputy_async_run* awaited_ = nullptr;        // by AwaitEndOf
  bool has_scratch_size_ = false;              // args_.scratch_size is known
  SpinTime spin_;                              // for the ends of submitted runs
  Scratch scratch_;                            // where a run brings none
  bool is_first_ = true;                       // since it was made, or resized
  std::atomic<bool> running_{false};           // a guarded run
  std::unique_ptr<EventCollector> collector_;  // while profiling is on
  std::vector<ProfileEvent> events_;
};

template <class Call>
Status ContextProxy::CallInTurn(const char* function, Call&& call, Watch watch, const PassRequest& request) {
  const OpenedDelegate::RunTurn turn(opened_, executable_->handle(), request);
  if (!turn.has_begun()) return request.token->Check();
  return opened_.Call(function, executable_->graph(), call, {executable_->place(), watch});
}

}  // namespace deputy::host
