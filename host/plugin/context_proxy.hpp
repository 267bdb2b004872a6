// One session's state for a plugin's executable: runs it, resizes it, listens to its events.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "plugin/event_collector.hpp"
#include "plugin/executable_proxy.hpp"

namespace deputy::host {

class ContextProxy final : public ExecutionContext {
 public:
  ContextProxy(std::shared_ptr<const CompiledPartition> partition, deputy_context* context);
  ~ContextProxy() override;

  Status Execute(const RunArgs& args) override;
  Result<ResizeOutcome> Resize(std::span<const deputy_tensor* const> inputs,
                               std::span<const deputy_tensor* const> outputs) override;
  Status SetProfiling(bool on) override;
  void TakeEvents(std::vector<ProfileEvent>& into) override;

 private:
  // A call that counts as one of execute: under the lock of a delegate that is SERIAL.
  template <class Call>
  Status CallInTurn(const char* function, Call&& call);
  // Moves what is on the device's clock to the host's, if the delegate can tie them.
  void Correlate(std::vector<ProfileEvent>& events) const;

  std::shared_ptr<const CompiledPartition> partition_;
  const OpenedDelegate& opened_;
  deputy_context* context_;
  deputy_run_args args_{};
  std::unique_ptr<EventCollector> collector_;  // while profiling is on
};

}  // namespace deputy::host
