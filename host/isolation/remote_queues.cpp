// Queues of a delegate in a worker process. A run has a channel of its own from submit to its end, for which the worker
// waits on the thread of that channel. The table is for this host alone: runs have no sink and no fences, and poll and
// wait are called by one thread at a time.
#include <algorithm>
#include <chrono>
#include <memory>
#include <vector>

#include "isolation/remote_delegate.hpp"
#include "isolation/remote_run.hpp"

namespace deputy::host {
namespace {

// The worker is ended after a longer choice.
constexpr std::chrono::milliseconds kMostChoiceTime{1000};

RemoteRun& RunOf(deputy_async_run* run) { return *reinterpret_cast<RemoteRun*>(run); }

deputy_status* Submit(deputy_context* self, const deputy_async_args* args, deputy_async_run** out) {
  RemoteContext& context = RemoteContext::Of(self);
  return ForHost(context.instance.host, [&] {
    if (args->sink != nullptr || args->wait_count != 0)
      return CallResult::Failure(DEPUTY_INVALID_ARGUMENT, "runs in a worker process have no sink and no fences");
    auto run = std::make_unique<RemoteRun>(context, *args->run, RunStart{true, args->queue, args->priority});
    if (CallResult failure = run->Send(); failure.failed) return failure;
    if (!run->AwaitSubmission()) return run->result();
    *out = reinterpret_cast<deputy_async_run*>(run.release());
    return CallResult();
  });
}

deputy_status* Poll(deputy_async_run* self, uint32_t* finished) {
  RemoteRun& run = RunOf(self);
  return ForHost(run.context().instance.host, [&] {
    CallPause pause;
    pause.at = {};
    *finished = run.Await(pause) ? 1 : 0;
    return CallResult();
  });
}

deputy_status* Wait(deputy_async_run* self, uint64_t deadline_ns) {
  RemoteRun& run = RunOf(self);
  return ForHost(run.context().instance.host, [&] {
    CallPause pause;
    if (deadline_ns != 0) pause.at = TimeLimit::Clock::time_point(std::chrono::nanoseconds(deadline_ns));
    return run.Await(pause) ? run.result() : CallResult::Failure(DEPUTY_DEADLINE_EXCEEDED, "the run has not ended yet");
  });
}

deputy_status* CancelRun(deputy_async_run* self) {
  const RemoteRun& run = RunOf(self);
  return ForHost(run.context().instance.host, [&] {
    run.context().instance.delegate.link().Cancel(Function::kCancelSubmitted, run.context().token, run.number());
    return CallResult();
  });
}

void RunDestroy(deputy_async_run* self) { delete &RunOf(self); }

deputy_status* Limits(deputy_instance* self, deputy_queue_limits* out) {
  RemoteInstance& instance = RemoteInstance::Of(self);
  return ForHost(instance.host, [&] {
    std::unique_ptr<Received<Reply<deputy_queue_limits>>> limits;
    CallResult result = CallObject(instance, Function::kQueueLimits, instance.token, Nothing(), {}, limits);
    if (result.failed) return result;
    deputy_queue_limits full = (*limits)->payload;
    full.exclusive_group = instance.Keep(full.exclusive_group);
    Fill(full, out);
    return result;
  });
}

deputy_status* Choose(deputy_instance* self, const deputy_ready_run* const* ready, uint32_t count, uint32_t* chosen,
                      uint32_t* queue) {
  const RemoteInstance& instance = RemoteInstance::Of(self);
  return ForHost(instance.host, [&] {
    std::vector<deputy_ready_run> runs;
    std::vector<const deputy_ready_run*> pointers;
    runs.reserve(count);
    for (uint32_t i = 0; i < count; ++i) {
      runs.push_back(*ready[i]);
      const uint64_t token = RemoteContext::Of(ready[i]->context).token;
      runs.back().context = reinterpret_cast<deputy_context*>(static_cast<uintptr_t>(token));
      pointers.push_back(&runs.back());
    }
    CallScope scope;
    scope.host = instance.host;
    WorkerLink& link = instance.delegate.link();
    CallDeadline limit(link.options(), kMostChoiceTime);
    RemoteCall call(link, Function::kChooseRun, scope, limit);
    std::unique_ptr<Received<Reply<TwoNumbers>>> answer;
    CallResult result = call.Make(ObjectCall<ReadyRuns>{instance.token, {pointers.data(), count}}, answer);
    if (result.failed) return result;
    constexpr uint64_t kMost = UINT32_MAX;
    *chosen = static_cast<uint32_t>(std::min((*answer)->payload.first, kMost));
    *queue = static_cast<uint32_t>(std::min((*answer)->payload.second, kMost));
    return result;
  });
}

}  // namespace

void RemoteDelegate::FillQueues() {
  async_.struct_size = form_.async.struct_size;
  async_.flags = form_.async.flags;
  async_.submit = Slot(form_.async, 0, Submit);
  async_.poll = Slot(form_.async, 1, Poll);
  async_.wait = Slot(form_.async, 2, Wait);
  async_.cancel = Slot(form_.async, 3, CancelRun);
  async_.run_destroy = Slot(form_.async, 4, RunDestroy);
  scheduling_.struct_size = form_.scheduling.struct_size;
  scheduling_.limits = Slot(form_.scheduling, 0, Limits);
  scheduling_.choose = Slot(form_.scheduling, 1, Choose);
}

}  // namespace deputy::host
