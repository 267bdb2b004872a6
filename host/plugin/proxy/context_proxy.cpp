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

void ContextProxy::AskScratchSize() {
  has_scratch_size_ = true;
  args_.scratch_size = 0;
  if (!DEPUTY_HAS_FN(&opened_.table(), deputy_delegate, scratch_size)) return;
  executable_->CallSerial([&] {
    opened_.CallVoid(
        "scratch_size", [&] { args_.scratch_size = opened_.table().scratch_size(context_); }, executable_->place());
  });
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
