#include "isolation/remote_run.hpp"

#include <memory>
#include <utility>

#include "isolation/remote_delegate.hpp"

namespace deputy::host {
namespace {

std::optional<uint64_t> InputBytes(const RemoteContext& context, const deputy_run_args& args) {
  if (context.instance.delegate.link().options().run_timeout != kAutomaticTimeout) return std::nullopt;
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < args.input_count; ++i)
    if (args.inputs[i] != nullptr) bytes += args.inputs[i]->byte_size;
  return bytes;
}

CallDeadline LimitOf(const RemoteContext& context, const deputy_run_args& args, std::optional<uint64_t> bytes) {
  const RemotePluginOptions& options = context.instance.delegate.link().options();
  return CallDeadline(bytes ? context.limit.For(*bytes, options.call_timeout) : options.run_timeout, args);
}

}  // namespace

void Deliver(const Events& events, const deputy_profile_sink* sink) {
  for (const deputy_profile_event& event : events.events)
    if (sink != nullptr) sink->event(sink->self, &event);
}

RemoteRun::RemoteRun(RemoteContext& context, const deputy_run_args& args, const RunStart& start)
    : context_(context),
      start_(start),
      bytes_(InputBytes(context, args)),
      limit_(LimitOf(context, args, bytes_)),
      transfer_(args) {
  scope_.host = context.instance.host;
  scope_.run = &transfer_.args();
  if (start_.submits) limit_.AllowFor(++context_.instance.submitted);
}

RemoteRun::~RemoteRun() {
  if (start_.submits) --context_.instance.submitted;
}

CallResult RemoteRun::Send() {
  WorkerLink& link = context_.instance.delegate.link();
  if (bytes_ && context_.limit.IsMeasured(*bytes_)) measured_since_ = TimeLimit::Clock::now();
  transfer_.Find(link, context_.places, limit_);
  again_ = context_.run.Matches(transfer_.args());
  call_.emplace(link, again_ ? Function::kExecuteAgain : Function::kExecute, scope_, limit_);
  if (CallResult failure = transfer_.Prepare(*call_); failure.failed) return failure;
  if (again_) {
    ObjectCall<RunAgainForm> message{context_.token, {}};
    message.args.start = start_;
    transfer_.Fill(message.args);
    return call_->Send(message);
  }
  ObjectCall<RunForm> message{context_.token, {}};
  message.args.start = start_;
  transfer_.Fill(message.args);
  return call_->Send(message);
}

bool RemoteRun::AwaitSubmission() {
  CallPause pause;
  pause.when_submitted = true;
  const bool ended = Await(pause);
  limit_.AllowFor(context_.instance.submitted);  // those before it have been submitted, too
  return !ended || call_->channel()->HasSubmitted();
}

bool RemoteRun::Await(const CallPause& pause) {
  if (result_) return true;
  WireFrame frame;
  bool returned = false;
  CallResult lost = call_->Await(frame, pause, returned);
  if (returned) result_ = lost.failed ? std::move(lost) : Finish(std::move(frame));
  return returned;
}

CallResult RemoteRun::Finish(WireFrame frame) {
  std::unique_ptr<Received<Reply<Events>>> events;
  CallResult result = call_->Take(std::move(frame), events);
  if (events != nullptr && !again_) context_.run.Remember(transfer_.args());
  if (!result.failed) transfer_.Finish(*call_);
  if (!result.failed && measured_since_) context_.limit.Ended(*bytes_, TimeLimit::Clock::now() - *measured_since_);
  if (events != nullptr) Deliver((*events)->payload, context_.sink);
  return result;
}

deputy_status* RemoteExecute(deputy_context* self, const deputy_run_args* args) {
  RemoteContext& context = RemoteContext::Of(self);
  return ForHost(context.instance.host, [&] {
    RemoteRun run(context, *args);
    if (CallResult failure = run.Send(); failure.failed) return failure;
    run.Await({});
    return run.result();
  });
}

}  // namespace deputy::host
