#include "plugin/proxy/context_proxy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "plugin/checks/guarded_run.hpp"
#include "plugin/checks/unwritten.hpp"
#include "plugin/proxy/device_memory_proxy.hpp"

namespace deputy::host {
namespace {

// That a thread polls for the end of a run before it sleeps.
constexpr std::chrono::microseconds kSpin{50};
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

ContextProxy::ContextProxy(std::shared_ptr<const ExecutableProxy> executable)
    : executable_(std::move(executable)),
      opened_(executable_->opened()),
      open_(executable_->graph()->graph(), executable_->outputs()),
      can_cancel_(opened_.async() == nullptr && DEPUTY_HAS_FN(&opened_.table(), deputy_delegate, cancel)),
      spin_(opened_.async() != nullptr && AvailableCpus() > 1 ? kSpin : std::chrono::microseconds(0)) {
  args_.struct_size = sizeof args_;
  args_.input_count = static_cast<uint32_t>(executable_->input_count());
  args_.output_count = static_cast<uint32_t>(executable_->output_count());
}

ContextProxy::~ContextProxy() {
  if (context_ == nullptr) return;
  executable_->CallSerial([&] {
    opened_.CallVoid(
        "context_destroy", [&] { opened_.table().context_destroy(context_); }, executable_->place());
  });
}

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

template <class Call>
Status ContextProxy::CallInTurn(const char* function, Call&& call, Watch watch, const PassRequest& request) {
  const OpenedDelegate::RunTurn turn(opened_, executable_->handle(), request);
  if (!turn.has_begun()) return request.token->Check();
  return opened_.Call(function, executable_->graph(), call, {executable_->place(), watch});
}

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

void ContextProxy::AskScratchSize() {
  has_scratch_size_ = true;
  args_.scratch_size = 0;
  if (!DEPUTY_HAS_FN(&opened_.table(), deputy_delegate, scratch_size)) return;
  executable_->CallSerial([&] {
    opened_.CallVoid(
        "scratch_size", [&] { args_.scratch_size = opened_.table().scratch_size(context_); }, executable_->place());
  });
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

Status ContextProxy::RunFirst(const RunArgs& args) {
  const std::optional<ProcessKeeper> keeper = opened_.KeeperOf("execute");
  const auto run = [&](const RunArgs& filled) { return Run(filled, Watch::kFloatAndSignals); };
  DEPUTY_ASSIGN_OR_RETURN(const std::optional<Unwritten> found, RunOnPattern(args, false, run));
  if (found) return opened_.Fault("execute", Describe(*found, executable_->OutputName(found->output)));
  is_first_ = false;
  return {};
}

Status ContextProxy::RunGuarded(const RunArgs& args) {
  if (running_.exchange(true)) return Error(StatusCode::kFailedPrecondition, "a session is run by two threads at once");
  Status status = RunBetweenGuards(args);
  running_ = false;
  return status;
}

Status ContextProxy::RunBetweenGuards(const RunArgs& args) {
  DEPUTY_ASSIGN_OR_RETURN(const std::unique_ptr<GuardedRun> guarded, GuardedRun::Make(args, opened_.Place("execute")));
  RunArgs inside = args;
  inside.inputs = guarded->inputs();
  inside.outputs = guarded->outputs();
  if (args.allocator != nullptr) inside.allocator = guarded.get();
  const auto run = [&](const RunArgs& filled) -> Status {
    open_.Forget(filled);
    DEPUTY_RETURN_IF_ERROR(Run(filled, Watch::kFloatAndSignals));
    if (std::string wrong = guarded->Changed(); !wrong.empty()) return opened_.Fault("execute", std::move(wrong));
    return {};
  };
  DEPUTY_ASSIGN_OR_RETURN(const std::optional<Unwritten> found, RunOnPattern(inside, true, run));
  guarded->Finish();
  if (found) return opened_.Fault("execute", Describe(*found, executable_->OutputName(found->output)));
  return {};
}

Result<ResizeOutcome> ContextProxy::Resize(std::span<const deputy_tensor* const> inputs,
                                           std::span<const deputy_tensor* const> outputs) {
  if (opened_.resize() == nullptr) return ExecutionContext::Resize(inputs, outputs);
  if (inputs.size() != executable_->input_count() || outputs.size() != executable_->output_count())
    return Error(StatusCode::kInternal,
                 "got {} input and {} output shapes for a partition with {} inputs and {} outputs", inputs.size(),
                 outputs.size(), executable_->input_count(), executable_->output_count());
  deputy_resize_args args{};
  args.struct_size = sizeof args;
  args.input_count = static_cast<uint32_t>(inputs.size());
  args.output_count = static_cast<uint32_t>(outputs.size());
  args.inputs = inputs.data();
  args.outputs = outputs.data();
  deputy_resize_outcome outcome = DEPUTY_RESIZE_DONE;
  DEPUTY_RETURN_IF_ERROR(CallInTurn("resize", [&] { return opened_.resize()->resize(context_, &args, &outcome); }));
  is_first_ = true;
  has_scratch_size_ = false;
  if (outcome == DEPUTY_RESIZE_DONE) open_.Resize(outputs);
  if (outcome == DEPUTY_RESIZE_DONE) return ResizeOutcome::kDone;
  if (outcome == DEPUTY_RESIZE_RECOMPILE) return ResizeOutcome::kRecompile;
  return opened_.Fault("resize", fmt::format("it returned the unknown outcome {}", outcome));
}

std::shared_ptr<DeviceMemory> ContextProxy::device_memory() const {
  if (opened_.memory() == nullptr) return nullptr;
  return std::make_shared<DeviceMemoryProxy>(executable_->shared_opened());
}

MemoryWish ContextProxy::WishOf(size_t index, const deputy_tensor& tensor) {
  return executable_->CallSerial([&] { return AskWish(opened_, context_, index, tensor); });
}

Status ContextProxy::SetProfiling(bool on) {
  if (opened_.profiling() == nullptr) return ExecutionContext::SetProfiling(on);
  if (on == (collector_ != nullptr)) return {};
  auto collector = on ? std::make_unique<EventCollector>() : nullptr;
  DEPUTY_RETURN_IF_ERROR(CallInTurn(
      "set_profiling", [&] { return opened_.profiling()->set_profiling(context_, on ? collector->sink() : nullptr); }));
  collector_ = std::move(collector);
  events_.clear();
  return {};
}

void ContextProxy::TakeEvents(std::vector<ProfileEvent>& into) {
  for (ProfileEvent& event : events_) into.push_back(std::move(event));
  events_.clear();
}

void ContextProxy::KeepEvents() {
  if (opened_.profiling()->collect != nullptr) {
    const Status status =
        CallInTurn("collect", [&] { return opened_.profiling()->collect(context_, collector_->sink()); });
    if (!status.ok()) opened_.LogFault("collect", status.message());
  }
  EventCollector::Taken taken = collector_->Take(executable_->debug_map());
  if (taken.faults != 0)
    opened_.LogFault("profiling", taken.faults == 1
                                      ? taken.first_fault
                                      : fmt::format("{} (and {} more)", taken.first_fault, taken.faults - 1));
  if (events_.size() + taken.events.size() > EventCollector::kMostEvents) {
    taken.lost += taken.events.size();
    taken.events.clear();
  }
  if (taken.lost != 0)
    opened_.LogFault("profiling", fmt::format("{} events of one run were dropped: there are too many", taken.lost));
  if (taken.needs_device_clock) Correlate(taken.events);
  std::stable_sort(taken.events.begin(), taken.events.end(),
                   [](const ProfileEvent& a, const ProfileEvent& b) { return a.begin_ns < b.begin_ns; });
  for (ProfileEvent& event : taken.events) events_.push_back(std::move(event));
}

void ContextProxy::Correlate(std::vector<ProfileEvent>& events) const {
  for (ProfileEvent& event : events) event.is_related = !event.on_device_clock;
  if (opened_.profiling()->correlate == nullptr)
    return opened_.LogFault("profiling", "events use the device's clock, but it does not implement correlate");
  uint64_t device_ns = 0, host_ns = 0;
  const Status status = opened_.Call(
      "correlate", nullptr, [&] { return opened_.profiling()->correlate(opened_.instance(), &device_ns, &host_ns); });
  if (!status.ok()) return opened_.LogFault("correlate", status.message());
  // Modulo 2^64 the difference is right whichever clock is ahead.
  for (ProfileEvent& event : events) {
    if (!event.on_device_clock) continue;
    event.begin_ns += host_ns - device_ns;
    event.end_ns += host_ns - device_ns;
    event.is_related = true;
  }
}

}  // namespace deputy::host
