// The C tables over ExecutionContext::Submit and a delegate's queues. As in thunks.hpp, every function catches
// everything.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "deputy/sdk/boundary.hpp"

namespace deputy::sdk::detail {

// Behind deputy_async_run: a run from submit to run_destroy.
class BoxedRun final : public SubmittedRun {
 public:
  BoxedRun(const BoxedContext& context, const deputy_async_args& submitted)
      : context_(context),
        number_(submitted.number),
        queue_(submitted.queue),
        priority_(submitted.priority),
        sink_(submitted.sink == nullptr ? deputy_async_sink() : *submitted.sink),
        args_(Filled(*submitted.run)),
        view_(args_, context.host, &cancelled_run_) {}

  const RunArgs& args() const override { return view_; }
  uint32_t queue() const override { return queue_; }
  int32_t priority() const override { return priority_; }
  void End(Status status) override {
    const deputy_async_sink sink = sink_;
    const uint64_t number = number_;
    deputy_status* const made = sink.done == nullptr ? nullptr : context_.host.Make(status);
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      status_ = std::move(status);
      has_ended_ = true;
      ended_.notify_all();
    }
    if (sink.done != nullptr) sink.done(sink.self, number, made);
  }

  const BoxedContext& context() const { return context_; }
  bool has_ended() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return has_ended_;
  }
  Status Wait(uint64_t deadline_ns) const {
    using Clock = std::chrono::steady_clock;  // CLOCK_MONOTONIC
    std::unique_lock<std::mutex> lock(mutex_);
    const auto ended = [this] { return has_ended_; };
    if (deadline_ns == 0)
      ended_.wait(lock, ended);
    else
      ended_.wait_until(lock, Clock::time_point(std::chrono::nanoseconds(std::min(deadline_ns, kLatestNs))), ended);
    return has_ended_ ? status_ : Status(Code::kDeadlineExceeded, "the run has not ended yet");
  }
  void Cancel() {
    cancelled_run_.store(args_.run);
    context_.context->Cancel();
  }

 private:
  static constexpr uint64_t kLatestNs = uint64_t{1} << 62;  // what the clock can count

  static deputy_run_args Filled(const deputy_run_args& given) {
    deputy_run_args args{};
    std::memcpy(&args, &given, std::min<size_t>(given.struct_size, sizeof args));
    return args;
  }

  const BoxedContext& context_;
  const uint64_t number_;
  const uint32_t queue_;
  const int32_t priority_;
  const deputy_async_sink sink_;
  const deputy_run_args args_;
  std::atomic<uint64_t> cancelled_run_{0};
  const RunArgs view_;
  mutable std::mutex mutex_;  // of all below
  mutable std::condition_variable ended_;
  bool has_ended_ = false;
  Status status_;
};

struct SubmissionThunks {
  static deputy_status* Submit(deputy_context* self, const deputy_async_args* args, deputy_async_run** out) noexcept {
    const BoxedContext& boxed = *As<BoxedContext>(self);
    return Guard(boxed.host, [&]() -> Status {
      DEPUTY_SDK_RETURN_IF_ERROR(CheckFlags(args->run->flags, 0));
      if (args->wait_count != 0) return Status(Code::kInvalidArgument, "no kind of fence was declared");
      auto run = std::make_unique<BoxedRun>(boxed, *args);
      DEPUTY_SDK_RETURN_IF_ERROR(boxed.context->Submit(*run));
      *out = As<deputy_async_run>(run.release());
      return {};
    });
  }

  static deputy_status* Poll(deputy_async_run* self, uint32_t* finished) noexcept {
    *finished = As<BoxedRun>(self)->has_ended() ? 1 : 0;
    return nullptr;
  }

  static deputy_status* Wait(deputy_async_run* self, uint64_t deadline_ns) noexcept {
    const BoxedRun& run = *As<BoxedRun>(self);
    return Guard(run.context().host, [&] { return run.Wait(deadline_ns); });
  }

  static deputy_status* Cancel(deputy_async_run* self) noexcept {
    BoxedRun& run = *As<BoxedRun>(self);
    return Guard(run.context().host, [&]() -> Status {
      run.Cancel();
      return {};
    });
  }

  static void Destroy(deputy_async_run* self) noexcept { delete As<BoxedRun>(self); }

  static deputy_status* Limits(deputy_instance* self, deputy_queue_limits* out) noexcept {
    const Instance& instance = *As<Instance>(self);
    return Guard(instance.host, [&]() -> Status {
      const QueueLimits limits = instance.delegate().queue_limits();
      Fill(out, {sizeof(deputy_queue_limits), limits.queues, limits.runs_in_flight, limits.runs_per_context,
                 ToStr(limits.exclusive_group)});
      return {};
    });
  }

  static deputy_status* Choose(deputy_instance* self, const deputy_ready_run* const* ready, uint32_t count,
                               uint32_t* chosen, uint32_t* queue) noexcept {
    const Instance& instance = *As<Instance>(self);
    return Guard(instance.host, [&]() -> Status {
      const QueueChoice choice = instance.delegate().Choose(Span<const deputy_ready_run* const>(ready, count));
      *chosen = static_cast<uint32_t>(choice.run);
      *queue = choice.queue;
      return {};
    });
  }

  // Fills the tables of a record.
  static void FillTables(Record& record) {
    record.async = {sizeof record.async, DEPUTY_ASYNC_CANCELS, 0, 0, Submit, Poll, Wait, Cancel, nullptr, Destroy};
    record.scheduling = {sizeof record.scheduling, 0, Limits, record.chooses ? Choose : nullptr};
  }
};

}  // namespace deputy::sdk::detail
