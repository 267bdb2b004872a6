// Answers failures of steps with the CPU, and counts what it is asked for.
#pragma once

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "execute/execution.hpp"
#include "partition/hosted_delegate.hpp"
#include "plan/make_plan.hpp"

namespace deputy::host {

// Computes the partition's outputs on the CPU.
class CpuFallback final : public StepFallback {
 public:
  explicit CpuFallback(std::shared_ptr<Delegate> cpu) : cpu_{HostedDelegate(std::move(cpu))} {}
  Result<std::unique_ptr<Execution>> CreateAlternative(const Plan& plan, const Step& step, const Status& why,
                                                       const ExecutionMemory& memory) override {
    asked_from = std::this_thread::get_id();
    reason = why;
    std::vector<HostedDelegate> delegates;
    for (size_t i = 0; i < plan.delegate_names.size(); ++i) delegates.push_back(cpu_);
    DEPUTY_ASSIGN_OR_RETURN(
        const std::shared_ptr<const Plan> made,
        MakeAlternative(plan, step, RefuseAll(plan, step, {Reason::kFailedAtRun, ""}), delegates, {}, {}));
    return Execution::Create(made, this, memory);
  }
  void Report(const Plan&, const Step&, const StepFailure&, const Status&) override { ++reports; }
  Status Verify(const StepRun& run, const CancellationToken&) override {
    if (verified) verified(run);
    verified_from = std::this_thread::get_id();
    ++verifications;
    return {};
  }

  std::thread::id asked_from, verified_from;
  Status reason;
  int reports = 0, verifications = 0;
  std::function<void(const StepRun&)> verified;

 private:
  const HostedDelegate cpu_;
};

}  // namespace deputy::host
