// A run of an execution: its steps in order, what verifies them, and what answers their failures.
#include <fmt/format.h>

#include <utility>
#include <vector>

#include "base/cancellation.hpp"
#include "base/printable.hpp"
#include "execute/bound_step.hpp"
#include "execute/device_values.hpp"
#include "execute/execution.hpp"
#include "execute/loop_execution.hpp"
#include "execute/overlapped_run.hpp"
#include "graph/graph.hpp"
#include "tensor/held_value.hpp"

namespace deputy::host {

Status RunContext(const Plan& plan, const Step& step, ExecutionContext& context, const RunArgs& args,
                  const CancellationScope& scope) {
  Status status = context.Execute(args);
  // A kernel that was cancelled has left out work: its status has no meaning.
  if (scope.stopped()) return args.cancellation->Check();
  if (!status.ok() || !args.cancellation->Due()) return status;
  return args.cancellation->ReasonAfter(plan.delegate_names[plan.placement.partitions[step.partition].delegate]);
}

// Where the run has failed.
Status Execution::Placed(const Status& failure, const Step& step, const CancellationToken& token) const {
  // A run that was cancelled or is late ends as such, regardless of what its delegate reports.
  const Status reason = token.Check();
  const bool is_ended = !reason.ok() && reason.code() != failure.code();
  Status status = Printable(is_ended ? reason : failure, 1000);  // it may quote the model
  const PartitionSpec& partition = plan_->placement.partitions[step.partition].spec;
  const std::string first = Describe(*plan_->graph, partition.nodes.front());
  if (partition.nodes.size() == 1) return std::move(status).At(first);
  return std::move(status).At(fmt::format("partition '{}' of {} nodes, the first of which is {}", partition.name,
                                          partition.nodes.size(), first));
}

Status Execution::Run(const CancellationToken& token, std::span<StepSpan> spans, StepObserver* observer) {
  if (has_new_contexts_) RenewDevices();
  if (devices_ == nullptr) return RunOnce(token, spans, observer);
  devices_->Begin();
  for (;;) {
    Status status = devices_->ReadyInputs();
    if (status.ok()) status = RunOnce(token, spans, observer);
    if (status.ok()) status = devices_->ReadyOutputs();
    if (status.ok() || !devices_->TakeReplay()) return status;
  }
}

Status Execution::RunOnce(const CancellationToken& token, std::span<StepSpan> spans, StepObserver* observer) {
  if (overlapped_ != nullptr && observer == nullptr) return overlapped_->Run(token, spans);
  const bool is_watched = !spans.empty() || observer != nullptr;
  uint64_t begin = is_watched ? NowNs() : 0;
  bool is_first = true;
  const CancellationScope scope(&token);
  for (BoundStep& step : steps_) {
    Status status = is_first ? token.Check() : Status();
    is_first = false;
    if (status.ok()) status = RunStep(step, token, scope);
    if (is_watched) {
      if (!spans.empty())
        spans[step.index] = {begin, NowNs(), step.ran_elsewhere ? &step.alternative->plan() : nullptr};
      if (observer != nullptr && devices_ != nullptr && status.ok()) status = devices_->OutputsToHost(step);
      if (observer != nullptr && status.ok()) status = observer->Ended(*this, step.index);
      begin = NowNs();
    }
    if (status.ok()) continue;
    return Placed(status, *step.step, token);
  }
  return {};
}

RunArgs Execution::ArgsOf(BoundStep& step, Scratch& scratch, const CancellationToken& token) {
  if (devices_ == nullptr) return {step.inputs, step.outputs, allocator_.get(), &scratch, &token, hints_};
  return {devices_->inputs(step), devices_->outputs(step), allocator_.get(), &scratch, &token, hints_};
}

Status Execution::RunStep(BoundStep& step, const CancellationToken& token, const CancellationScope& scope) {
  step.ran_elsewhere = false;
  if (step.health != nullptr) {
    if (!DelegateRuns(step)) return RunAlternative(step, Status(), token);
  } else if (step.context == nullptr) {
    DEPUTY_RETURN_IF_ERROR(RunRegions(step, token));
    return token.Check();
  }
  return RunOwn(step, token, scope);
}

bool Execution::HasImports(const BoundStep& step) const { return devices_ != nullptr && devices_->HasImports(step); }

bool Execution::DelegateRuns(BoundStep& step) const {
  step.loss_number = step.health->delegate().loss_number();
  return step.health->OwnerRuns() && (devices_ == nullptr || !devices_->Avoids(step));
}

Status Execution::RunDelegate(BoundStep& step, const RunArgs& args, const CancellationScope& scope) {
  if (devices_ == nullptr) return RunContext(*plan_, *step.step, *step.context, args, scope);
  return RunOnDevice(step, args, scope);
}

Status Execution::RunOnDevice(BoundStep& step, const RunArgs& args, const CancellationScope& scope) {
  Status status = devices_->Upload(step);
  if (status.ok()) status = RunContext(*plan_, *step.step, *step.context, args, scope);
  if (status.ok()) status = devices_->Finish(step);
  if (status.code() == StatusCode::kDeviceLost) devices_->Lose(step, status);
  return status;
}

Status Execution::RunOwn(BoundStep& step, const CancellationToken& token, const CancellationScope& scope) {
  // The device may have recovered since the alternative ran.
  if (step.health != nullptr && step.alternative != nullptr && IsDeviceFailure(step.broken))
    step.broken = CreateContext(step);
  const RunArgs args = ArgsOf(step, scratch_, token);
  if (step.health != nullptr && step.context != nullptr && step.health->IsToVerify(step.runs++, HasImports(step)))
    return RunVerified(step, args, scope);
  Status status = step.context == nullptr ? step.broken : RunDelegate(step, args, scope);
  if (step.health == nullptr) return status;
  if (!status.ok()) return AnswerFailure(step, status, args, scope);
  step.health->Succeeded();
  return {};
}

Status Execution::AnswerFailure(BoundStep& step, const Status& failure, const RunArgs& args,
                                const CancellationScope& scope) {
  const CancellationToken& token = *args.cancellation;
  if (token.Due()) return failure;
  Status status = failure;
  if (step.context != nullptr && step.context->was_lost_before()) {
    step.loss_number = step.health->delegate().loss_number();
    status = CreateContext(step);
    if (status.ok()) status = RunDelegate(step, args, scope);
    if (status.ok()) {
      step.health->Succeeded();
      return {};
    }
  }
  if (token.Due() || !step.health->delegate().handling().falls_back) return status;
  const bool ended_process = step.context != nullptr && step.context->ended_its_process();
  step.is_first_of_loss =
      (ended_process || IsDeviceFailure(status)) && step.health->delegate().IsFirstOfLoss(step.loss_number);
  // Two in a row are a fault of the plugin with this partition, not of its device: another one is not risked.
  if (ended_process && step.is_first_of_loss && step.health->EndedProcess())
    status = Error(StatusCode::kPlugin, "for the second time in a row: {}", status.ToString());
  return RunAlternative(step, status, token);
}

// The inputs are copied first: a delegate that changes them must not change what its results are compared with.
Status Execution::RunVerified(BoundStep& step, const RunArgs& args, const CancellationScope& scope) {
  std::vector<AlignedBytes> copies;
  std::vector<deputy_tensor> tensors;
  std::vector<const deputy_tensor*> before;
  tensors.reserve(step.inputs.size());
  if (devices_ != nullptr)
    if (const Status status = devices_->InputsToHost(step); !status.ok())
      return AnswerFailure(step, status, args, scope);
  for (const deputy_tensor* input : step.inputs) {
    before.push_back(nullptr);
    if (input == nullptr) continue;
    DEPUTY_ASSIGN_OR_RETURN(AlignedBytes copy, TensorMemory(input->byte_size));
    CopyInParts(copy.get(), input->data, input->byte_size);
    tensors.push_back(*input);
    tensors.back().data = copy.get();
    before.back() = &tensors.back();
    copies.push_back(std::move(copy));
  }
  Status status = RunDelegate(step, args, scope);
  if (status.ok() && devices_ != nullptr) status = devices_->OutputsToHost(step);
  if (!status.ok()) return AnswerFailure(step, status, args, scope);
  step.health->Succeeded();
  DEPUTY_RETURN_IF_ERROR(
      fallback_->Verify({*plan_, *step.step, before, step.inputs, step.outputs, *allocator_}, *args.cancellation));
  if (HasImports(step)) step.health->SetImportsVerified();
  if (devices_ != nullptr) devices_->WroteOnHost(step);  // what was wrong is replaced
  return args.cancellation->Check();
}

// The inputs of the step are unchanged: no output is an alias of them until it has succeeded.
Status Execution::RunAlternative(BoundStep& step, const Status& failure, const CancellationToken& token) {
  Status why = failure;
  if (devices_ != nullptr) {
    DEPUTY_RETURN_IF_ERROR(devices_->InputsToHost(step));
    if (const Status loss = devices_->TakeLoss(step); why.ok() && !loss.ok()) {
      why = loss;
      step.is_first_of_loss = step.health->delegate().IsFirstOfLoss(step.loss_number);
    }
  }
  if (step.alternative == nullptr) {
    Result<std::unique_ptr<Execution>> made = fallback_->CreateAlternative(*plan_, *step.step, why, memory_);
    if (!made.ok()) return std::move(made).status();
    step.alternative = std::move(made).value();
    if (profiling_) step.alternative->SetProfiling(true);
  }
  Execution& other = *step.alternative;
  step.ran_elsewhere = true;
  size_t captured = 0;
  for (const deputy_tensor* input : step.inputs)
    if (input != nullptr) DEPUTY_RETURN_IF_ERROR(other.Bind(other.plan().graph->captured[captured++], *input));
  Status status = other.Run(token);
  if (status.ok()) status = TakeOutputs(step, other);
  if (devices_ != nullptr) devices_->WroteOnHost(step);
  if (status.ok()) status = token.Check();  // a copy may be incomplete
  if (!why.ok()) fallback_->Report(*plan_, *step.step, {why, step.is_first_of_loss}, status);
  return status;
}

Status Execution::TakeOutputs(BoundStep& step, const Execution& from) {
  size_t made = 0;
  for (deputy_tensor* target : step.outputs)
    if (target != nullptr)
      DEPUTY_RETURN_IF_ERROR(StoreValue(target, from.tensor(from.plan().graph->outputs[made++]), *allocator_));
  return {};
}

Status Execution::RunRegions(BoundStep& step, const CancellationToken& token) {
  if (step.loop == nullptr) return RunBranch(step, token);
  DEPUTY_RETURN_IF_ERROR(BindCaptures(step, 0));
  return step.loop->Run(step.inputs, step.outputs, *allocator_, token);
}

Status Execution::BindCaptures(BoundStep& step, size_t region) {
  Execution& execution = *step.branches[region];
  const std::vector<ValueId>& captured = execution.plan().graph->captured;
  for (size_t i = 0; i < captured.size(); ++i)
    DEPUTY_RETURN_IF_ERROR(execution.Bind(captured[i], tensors_[step.step->branches[region].captures[i]]));
  return {};
}

Status Execution::RunBranch(BoundStep& step, const CancellationToken& token) {
  const deputy_tensor& condition = *step.inputs[0];
  if (condition.dtype != DEPUTY_DTYPE_BOOL || condition.byte_size != 1)
    return Error(StatusCode::kInvalidArgument, "cond must be a bool of one element");
  const size_t taken = *static_cast<const uint8_t*>(condition.data) != 0 ? 0 : 1;
  Execution& branch = *step.branches[taken];
  const Graph& body = *branch.plan().graph;
  DEPUTY_RETURN_IF_ERROR(BindCaptures(step, taken));
  DEPUTY_RETURN_IF_ERROR(branch.Run(token));
  for (size_t i = 0; i < step.outputs.size(); ++i) {
    deputy_tensor* target = step.outputs[i];
    if (target == nullptr) continue;
    DEPUTY_RETURN_IF_ERROR(StoreValue(target, branch.tensor(body.outputs[i]), *allocator_));
  }
  return {};
}

}  // namespace deputy::host
