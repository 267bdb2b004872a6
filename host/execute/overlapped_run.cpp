#include "execute/overlapped_run.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "base/log.hpp"
#include "execute/device_values.hpp"

namespace deputy::host {

std::unique_ptr<Execution::OverlappedRun> Execution::OverlappedRun::Make(Execution& execution) {
  std::unique_ptr<OverlappedRun> made(new OverlappedRun(execution));
  const Plan& plan = execution.plan();
  std::vector<uint32_t> lane_of(plan.steps.size(), 0);
  std::vector<size_t> owners = {SIZE_MAX};  // of the lanes; the first has none
  for (BoundStep& step : execution.steps_) {
    made->turns_[step.index].step = &step;
    if (!step.step->overlaps) continue;
    const size_t owner = plan.placement.partitions[step.step->partition].delegate;
    const auto found = std::find(owners.begin(), owners.end(), owner);
    lane_of[step.index] = static_cast<uint32_t>(found - owners.begin());
    if (found == owners.end()) owners.push_back(owner);
  }
  for (size_t lane = 0; lane < owners.size(); ++lane)
    made->lanes_.push_back(std::make_unique<Lane>(execution.memory_.budget.get()));
  Result<std::unique_ptr<StepLanes>> threads = StepLanes::Start(plan, std::move(lane_of), owners.size());
  if (!threads.ok()) {
    Log(LogLevel::kWarning, "steps that could overlap run one after another: {}", threads.status().ToString());
    return nullptr;
  }
  made->threads_ = std::move(threads).value();
  return made;
}

Execution::OverlappedRun::OverlappedRun(Execution& execution)
    : execution_(execution), turns_(execution.plan().steps.size()) {}

Status Execution::OverlappedRun::Run(const CancellationToken& token, std::span<StepSpan> spans) {
  const CancellationScope scope(&token);
  scope_ = &scope;
  spans_ = spans;
  for (const std::unique_ptr<Lane>& lane : lanes_) {
    lane->token = token;
    lane->token.hook = &lane->hook;
  }
  const bool is_hooked = token.hook != nullptr && token.hook->Set(CancelLanes, this);
  Status status = threads_->Run(*this);
  if (is_hooked) token.hook->Clear();
  return status;
}

void Execution::OverlappedRun::CancelLanes(void* self) {
  for (const std::unique_ptr<Lane>& lane : static_cast<OverlappedRun*>(self)->lanes_) lane->hook.Call();
}

bool Execution::OverlappedRun::RunBeside(uint32_t lane, uint32_t index) {
  const CancellationToken& token = lanes_[lane]->token;
  Turn& turn = turns_[index];
  BoundStep& step = *turn.step;
  turn.rest = Rest::kAll;
  if (token.Due()) return false;
  step.ran_elsewhere = false;
  turn.rest = Rest::kAlternative;
  if (step.health != nullptr && !execution_.DelegateRuns(step)) return false;
  turn.rest = Rest::kOwnRun;
  if (step.context == nullptr ||
      (step.health != nullptr && step.health->IsToVerify(step.runs, execution_.HasImports(step))))
    return false;
  ++step.runs;
  const CancellationScope scope(&token);
  const uint64_t begin_ns = spans_.empty() ? 0 : NowNs();
  Status status;
  try {
    status = execution_.RunDelegate(step, execution_.ArgsOf(step, lanes_[lane]->scratch, token), scope);
  } catch (const std::bad_alloc&) {
    status = Status(StatusCode::kResourceExhausted, "no memory for a step of the run");
  }
  if (!spans_.empty()) spans_[index] = {begin_ns, NowNs(), nullptr};
  if (status.ok()) {
    if (step.health != nullptr) step.health->Succeeded();
    return true;
  }
  turn.rest = Rest::kFailure;
  turn.failure = std::move(status);
  return false;
}

Status Execution::OverlappedRun::RunHere(uint32_t index) {
  // An exception would leave the other lanes running.
  try {
    return RunRest(index);
  } catch (const std::bad_alloc&) {
    return Status(StatusCode::kResourceExhausted, "no memory for a step of the run");
  }
}

Status Execution::OverlappedRun::RunRest(uint32_t index) {
  Turn& turn = turns_[index];
  BoundStep& step = *turn.step;
  const CancellationToken& token = lanes_[0]->token;
  const Rest rest = std::exchange(turn.rest, Rest::kAll);
  const uint64_t begin_ns = spans_.empty() ? 0 : NowNs();
  Status status = token.Check();
  if (rest == Rest::kFailure) {
    status = std::exchange(turn.failure, Status());
    if (step.health != nullptr)
      status = execution_.AnswerFailure(step, status, execution_.ArgsOf(step, execution_.scratch_, token), *scope_);
  } else if (status.ok()) {
    status = rest == Rest::kAll           ? execution_.RunStep(step, token, *scope_)
             : rest == Rest::kAlternative ? execution_.RunAlternative(step, Status(), token)
                                          : execution_.RunOwn(step, token, *scope_);
  }
  if (!spans_.empty())
    spans_[index] = {rest == Rest::kFailure ? spans_[index].begin_ns : begin_ns, NowNs(),
                     step.ran_elsewhere ? &step.alternative->plan() : nullptr};
  return status.ok() ? status : execution_.Placed(status, *step.step, token);
}

}  // namespace deputy::host
