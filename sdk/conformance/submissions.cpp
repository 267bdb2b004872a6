#include "submissions.hpp"

#include <algorithm>
#include <cstring>
#include <string>

namespace deputy::conformance {

Submissions::Submissions(Instance& instance)
    : instance_(instance),
      table_(static_cast<const deputy_ext_async*>(instance.plugin().Extension(
          instance.delegate(), DEPUTY_EXT_ASYNC, DEPUTY_END_OF(deputy_ext_async, run_destroy)))),
      scheduling_(static_cast<const deputy_ext_scheduling*>(instance.plugin().Extension(
          instance.delegate(), DEPUTY_EXT_SCHEDULING, DEPUTY_END_OF(deputy_ext_scheduling, limits)))) {
  sink_ = {sizeof sink_, 0, this, Done};
  HostServices& host = instance_.plugin().host();
  if (scheduling_ != nullptr && scheduling_->limits == nullptr) {
    host.Fault(std::string("the table of ") + DEPUTY_EXT_SCHEDULING + " has an empty slot");
    scheduling_ = nullptr;
  }
  if (table_ == nullptr) return;
  if (table_->submit != nullptr && table_->poll != nullptr && table_->wait != nullptr && table_->cancel != nullptr &&
      table_->run_destroy != nullptr)
    return;
  host.Fault(std::string("the table of ") + DEPUTY_EXT_ASYNC + " has empty slots");
  table_ = nullptr;
}

deputy_queue_limits Submissions::Limits() {
  deputy_queue_limits limits{};
  limits.struct_size = sizeof limits;
  limits.queue_count = limits.most_runs_in_flight = limits.most_runs_per_context = 1;
  if (scheduling_ == nullptr) return limits;
  HostServices& host = instance_.plugin().host();
  const Outcome outcome =
      instance_.plugin().Call("limits", [&] { return scheduling_->limits(instance_.handle(), &limits); });
  if (!outcome.ok()) host.Fault("limits failed: " + outcome.ToString());
  if (limits.struct_size != sizeof limits) host.Fault("limits: it changed struct_size");
  if (limits.queue_count == 0 || limits.most_runs_in_flight == 0 || limits.most_runs_per_context == 0)
    host.Fault("limits: no run can begin with " + std::to_string(limits.queue_count) + " queues, " +
               std::to_string(limits.most_runs_in_flight) + " runs in flight, " +
               std::to_string(limits.most_runs_per_context) + " of a context");
  return limits;
}

Outcome Submissions::Submit(Submission& one, bool with_sink, uint64_t deadline_ns) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  for (;;) {
    Outcome outcome = TrySubmit(one, with_sink, deadline_ns);
    if (outcome.code != DEPUTY_UNAVAILABLE || std::chrono::steady_clock::now() > until) return outcome;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

Outcome Submissions::TrySubmit(Submission& one, bool with_sink, uint64_t deadline_ns) {
  if (queues_ == 0) queues_ = std::max(1u, Limits().queue_count);
  if (one.tensors_.empty()) one.tensors_ = one.binding_.Tensors();
  one.inputs_.clear();
  one.outputs_.clear();
  for (size_t i = 0; i < one.tensors_.size(); ++i)
    (i < one.claim_.inputs.size() ? one.inputs_ : one.outputs_).push_back(&one.tensors_[i]);
  deputy_run_args run = one.context_.NextRun();
  run.input_count = static_cast<uint32_t>(one.inputs_.size());
  run.output_count = static_cast<uint32_t>(one.outputs_.size());
  run.inputs = one.inputs_.data();
  run.outputs = one.outputs_.data();
  run.deadline_ns = deadline_ns;
  one.scratch_ = one.context_.LendScratch(run);
  one.has_ended_ = one.ended_in_submit_ = false;
  one.outcome_ = {};
  deputy_async_args args{};
  args.struct_size = sizeof args;
  args.run = &run;
  args.sink = with_sink ? &sink_ : nullptr;
  {
    const std::lock_guard lock(mutex_);
    args.number = one.number_ = ++last_number_;
    args.queue = static_cast<uint32_t>(last_number_ % queues_);
    if (with_sink) in_flight_[one.number_] = &one;
    submitting_[one.number_] = std::this_thread::get_id();
  }
  one.run_ = nullptr;
  Outcome outcome =
      instance_.plugin().Call("submit", [&] { return table_->submit(one.context_.handle(), &args, &one.run_); });
  const std::lock_guard lock(mutex_);
  submitting_.erase(one.number_);
  if (outcome.ok() && one.run_ == nullptr)
    outcome = {DEPUTY_INTERNAL, DEPUTY_NO_NODE, "submit succeeded without a run"};
  if (!outcome.ok()) {
    if (with_sink && in_flight_.erase(one.number_) == 0)
      instance_.plugin().host().Fault("submit: it failed, and done was called for the run");
    if (one.run_ != nullptr) instance_.plugin().host().Fault("submit: it failed, and made a run");
  }
  // `run` and `args` are gone: a delegate that reads them later reads the stack of another call.
  std::memset(static_cast<void*>(&run), 0x5a, sizeof run);
  std::memset(static_cast<void*>(&args), 0x5a, sizeof args);
  return outcome;
}

void Submissions::Done(void* self, uint64_t number, deputy_status* status) {
  Submissions& all = *static_cast<Submissions*>(self);
  HostServices& host = all.instance_.plugin().host();
  Outcome outcome = status == nullptr ? Outcome() : host.Take(status);
  const std::lock_guard lock(all.mutex_);
  const auto found = all.in_flight_.find(number);
  if (found == all.in_flight_.end())
    return host.Fault("done: run " + std::to_string(number) + " has ended before, or was never submitted");
  Submission& one = *found->second;
  all.in_flight_.erase(found);
  one.outcome_ = std::move(outcome);
  const auto submit = all.submitting_.find(number);
  one.ended_in_submit_ = submit != all.submitting_.end() && submit->second == std::this_thread::get_id();
  one.has_ended_ = true;
  all.changed_.notify_all();
}

bool Submissions::WaitForEnd(Submission& one, std::chrono::seconds patience) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, patience, [&] { return one.has_ended_; });
}

Outcome Submissions::Wait(Submission& one, uint64_t deadline_ns) {
  return instance_.plugin().Call("wait", [&] { return table_->wait(one.run_, deadline_ns); });
}

bool Submissions::HasEnded(Submission& one) {
  uint32_t finished = 0x5a;
  const Outcome outcome = instance_.plugin().Call("poll", [&] { return table_->poll(one.run_, &finished); });
  HostServices& host = instance_.plugin().host();
  if (!outcome.ok()) host.Fault("poll failed: " + outcome.ToString());
  if (finished > 1) host.Fault("poll: it says neither 0 nor 1 but " + std::to_string(finished));
  return finished == 1;
}

Outcome Submissions::Cancel(Submission& one) {
  return instance_.plugin().Call("cancel", [&] { return table_->cancel(one.run_); });
}

void Submissions::Destroy(std::unique_ptr<Submission>& one) {
  constexpr size_t kMostKept = 64;
  instance_.plugin().CallVoid("run_destroy", [&] { table_->run_destroy(one->run_); });
  one->binding_.Close(" after its run had ended");
  const std::lock_guard lock(mutex_);
  ended_.push_back(std::move(one));
  if (ended_.size() > kMostKept) ended_.pop_front();
}

}  // namespace deputy::conformance
