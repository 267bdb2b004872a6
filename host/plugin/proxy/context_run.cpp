// The runs of a context: by execute, or submitted.
#include <fmt/format.h>

#include <optional>

#include "plugin/proxy/context_proxy.hpp"

namespace deputy::host {
namespace {

// A device's queue may be full of the runs of others: as long as it may be, and the time between two attempts.
constexpr uint64_t kLongestFullNs = 1'000'000'000, kFullQueuePauseNs = 1'000'000;

Status CheckOutputs(const RunArgs& args) {
  for (size_t i = 0; i < args.outputs.size(); ++i) {
    const deputy_tensor* tensor = args.outputs[i];
    if (tensor != nullptr && tensor->data == nullptr && tensor->handle == 0 && tensor->byte_size != 0)
      return Error(StatusCode::kInternal, "output {} has no memory", i);
  }
  return {};
}

}  // namespace

// While it lives, Session::Cancel reaches the plugin, and ends the wait for it.
class ContextProxy::HookedRun {
 public:
  HookedRun(ContextProxy& context, const CancellationToken* token)
      : context_(context), token_(context.can_cancel_ || context.opened_.limits_runs() ? token : nullptr) {
    if (token_ == nullptr || token_->hook == nullptr || !token_->hook->Set(Cancel, this)) return;
    set_ = true;
    is_cancelled_ = token_->IsCancelled();
  }
  ~HookedRun() {
    if (set_) token_->hook->Clear();
  }
  HookedRun(const HookedRun&) = delete;
  HookedRun& operator=(const HookedRun&) = delete;

  // Before the hook was set.
  bool is_cancelled() const { return is_cancelled_; }

 private:
  static void Cancel(void* self) {
    ContextProxy& context = static_cast<const HookedRun*>(self)->context_;
    context.opened_.WakeRuns();
    {
      const std::lock_guard lock(context.awaited_mutex_);
      if (context.awaited_ != nullptr) context.CancelSubmitted(context.awaited_);
    }
    if (!context.can_cancel_) return;
    context.opened_.CallVoid(
        "cancel", [&] { context.opened_.table().cancel(context.context_, context.args_.run); },
        context.executable_->place());
  }

  ContextProxy& context_;
  const CancellationToken* const token_;
  bool set_ = false, is_cancelled_ = false;
};

Status ContextProxy::Execute(const RunArgs& args) {
  if (args.inputs.size() != args_.input_count || args.outputs.size() != args_.output_count)
    return Error(StatusCode::kInternal, "bound {} inputs and {} outputs, but the partition has {} and {}",
                 args.inputs.size(), args.outputs.size(), args_.input_count, args_.output_count);
  if (open_.any()) {
    if (args.allocator == nullptr) return Error(StatusCode::kInternal, "there is no memory for outputs of any extents");
    open_.Forget(args);
  }
  DEPUTY_RETURN_IF_ERROR(CheckOutputs(args));
  const Status status = opened_.handle_tracker() != nullptr ? RunGuarded(args)
                        : is_first_                         ? RunFirst(args)
                                                            : Run(args, Watch::kFloat);
  if (collector_ != nullptr) KeepEvents();
  return status;
}

Status ContextProxy::Run(const RunArgs& args, Watch watch) {
  if (!has_scratch_size_) AskScratchSize();
  args_.inputs = args.inputs.data();
  args_.outputs = args.outputs.data();
  if (open_.any()) open_.Begin(args, args_);
  ++args_.run;
  args_.deadline_ns = args.deadline_ns();
  args_.scratch = nullptr;
  if (args_.scratch_size != 0) {
    Scratch& scratch = args.scratch != nullptr ? *args.scratch : scratch_;
    DEPUTY_ASSIGN_OR_RETURN(args_.scratch, scratch.Get(args_.scratch_size));
  }
  args_.power_level = args.hints.power_level;
  args_.precision = static_cast<deputy_dtype>(args.hints.precision);
  const HookedRun hooked(*this, args.cancellation);
  if (hooked.is_cancelled()) return args.cancellation->Check();
  const PassRequest request{args.hints.priority, args.cancellation};
  const auto execute = [&] { return opened_.table().execute(context_, &args_); };
  DEPUTY_RETURN_IF_ERROR(opened_.async() != nullptr ? RunSubmitted(watch, request)
                                                    : CallInTurn("execute", execute, watch, request));
  if (!open_.any()) return {};
  if (std::string fault = open_.Fault(); !fault.empty()) return opened_.Fault("execute", std::move(fault));
  return {};
}

Status ContextProxy::RunSubmitted(Watch watch, const PassRequest& request) {
  std::optional<RunQueue::Place> place;
  if (opened_.run_queue() != nullptr) place.emplace(*opened_.run_queue(), context_, request);
  if (place && !place->Wait()) return request.token->Check();
  SubmittedRuns& runs = opened_.submitted_runs();
  deputy_async_args submitted{};
  submitted.struct_size = sizeof submitted;
  submitted.run = &args_;
  const bool awaits = opened_.plugin().is_served();
  submitted.sink = awaits ? nullptr : runs.sink();
  submitted.queue = place ? place->queue() : 0;
  submitted.priority = request.priority;
  for (const uint64_t begin_ns = NowNs();;) {
    SubmittedRuns::Run run(runs);
    submitted.number = run.number();
    deputy_async_run* made = nullptr;
    const auto submit = [&](deputy_async_run** to) { return opened_.async()->submit(context_, &submitted, to); };
    const Status status = CallInTurn(
        "submit", [&] { return MakeOwn(made, submit); }, watch, request);
    if (status.ok() && made != nullptr)
      return awaits ? AwaitEndOf(made, request.token) : EndOf(run, made, request.token);
    if (status.ok()) return opened_.Fault("submit", "it succeeded without a run");
    if (made != nullptr) opened_.LogFault("submit", "it failed and made a run");
    if (status.code() != StatusCode::kUnavailable || NowNs() - begin_ns > kLongestFullNs) return status;
    runs.WaitForAnEnd(NowNs() + kFullQueuePauseNs);
    if (request.token != nullptr && request.token->Due()) return request.token->Check();
  }
}

Status ContextProxy::EndOf(SubmittedRuns::Run& run, deputy_async_run* made, const CancellationToken* token) {
  if (!run.Wait(token, spin_)) {
    CancelSubmitted(made);
    run.Wait(nullptr, spin_);
  }
  deputy_status* const ended = run.TakeStatus();
  opened_.CallVoid(
      "run_destroy", [&] { opened_.async()->run_destroy(made); }, executable_->place());
  return opened_.Taken("done", executable_->graph(), ended);
}

void ContextProxy::CancelSubmitted(deputy_async_run* made) noexcept {
  try {
    const Status status =
        opened_.Call("cancel", nullptr, [&] { return opened_.async()->cancel(made); }, {executable_->place()});
    if (!status.ok()) opened_.LogFault("cancel", status.message());
  } catch (...) {  // no memory for the status
  }
}

// While it lives, a cancel of the request reaches the run; then the run is destroyed.
class ContextProxy::AwaitedRun {
 public:
  AwaitedRun(ContextProxy& context, deputy_async_run* run) : context_(context), run_(run) { Await(run); }
  ~AwaitedRun() {
    Await(nullptr);
    context_.opened_.CallVoid(
        "run_destroy", [&] { context_.opened_.async()->run_destroy(run_); }, context_.executable_->place());
  }
  AwaitedRun(const AwaitedRun&) = delete;
  AwaitedRun& operator=(const AwaitedRun&) = delete;

 private:
  void Await(deputy_async_run* run) {
    const std::lock_guard lock(context_.awaited_mutex_);
    context_.awaited_ = run;
  }

  ContextProxy& context_;
  deputy_async_run* const run_;
};

Status ContextProxy::AwaitEndOf(deputy_async_run* made, const CancellationToken* token) {
  const deputy_ext_async& async = *opened_.async();
  const auto wait = [&](uint64_t deadline_ns) {
    return opened_.Call("done", executable_->graph(), [&] { return async.wait(made, deadline_ns); },
                        {executable_->place()});
  };
  const AwaitedRun awaited(*this, made);
  if (token != nullptr && token->IsCancelled()) CancelSubmitted(made);  // its hook found no run yet
  Status ended = wait(args_.deadline_ns);
  if (ended.ok()) return ended;
  // A failure of the run, or of the wait.
  uint32_t finished = 0;
  (void)opened_.Call("poll", nullptr, [&] { return async.poll(made, &finished); });
  if (finished != 0) return ended;
  CancelSubmitted(made);
  return wait(0);
}

}  // namespace deputy::host
