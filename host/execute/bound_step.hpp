// A step of an execution: its tensors, its context, and what takes its place.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/aligned.hpp"
#include "execute/execution.hpp"
#include "execute/loop_execution.hpp"

namespace deputy::host {

struct Execution::BoundStep {
  const Step* step = nullptr;
  size_t index = 0;
  std::unique_ptr<ExecutionContext> context;
  std::span<const deputy_tensor* const> inputs;
  std::span<deputy_tensor* const> outputs;
  std::vector<std::unique_ptr<Execution>> branches;
  std::unique_ptr<LoopExecution> loop;     // of a Loop or Scan
  StepHealth* health = nullptr;            // null: a failure ends the run
  uint64_t loss_number = 0;                // of the delegate when the last run began
  bool is_first_of_loss = false;           // the last failure
  bool ran_elsewhere = false;              // the last run was one of the alternative
  uint64_t runs = 0;                       // by the delegate itself, where its results may be verified
  Status broken;                           // why there is no context, if others could run the step
  std::unique_ptr<Execution> alternative;  // made when first needed
};

// kResourceExhausted where there is none.
Result<AlignedBytes> TensorMemory(size_t bytes);

// Runs the delegate of a step, whose tensors are where it wants them. One that ran to its end may have ended too late.
// `scope` is that of args.cancellation.
Status RunContext(const Plan& plan, const Step& step, ExecutionContext& context, const RunArgs& args,
                  const CancellationScope& scope);

}  // namespace deputy::host
