#include "isolation/remote_run.hpp"

#include <chrono>
#include <memory>

#include "isolation/remote_delegate.hpp"
#include "isolation/run_transfer.hpp"

namespace deputy::host {
namespace {

using Clock = std::chrono::steady_clock;

uint64_t InputBytes(const deputy_run_args& args) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < args.input_count; ++i)
    if (args.inputs[i] != nullptr) bytes += args.inputs[i]->byte_size;
  return bytes;
}

}  // namespace

void Deliver(const Events& events, const deputy_profile_sink* sink) {
  for (const deputy_profile_event& event : events.events)
    if (sink != nullptr) sink->event(sink->self, &event);
}

deputy_status* RemoteExecute(deputy_context* self, const deputy_run_args* args) {
  RemoteContext& context = RemoteContext::Of(self);
  return ForHost(context.instance.host, [&] {
    WorkerLink& link = context.instance.delegate.link();
    CallScope scope;
    scope.host = context.instance.host;
    scope.run = args;
    const bool automatic = link.options().run_timeout == kAutomaticTimeout;
    const uint64_t bytes = automatic ? InputBytes(*args) : 0;
    const std::chrono::milliseconds timeout =
        automatic ? context.limit.For(bytes, link.options().call_timeout) : link.options().run_timeout;
    const bool measures = automatic && context.limit.IsMeasured(bytes);
    const auto begin = measures ? Clock::now() : Clock::time_point();
    CallDeadline limit(timeout, *args);
    RunTransfer run(*args);
    run.Find(link, context.places, limit);
    const bool again = context.run.Matches(*args);
    RemoteCall call(link, again ? Function::kExecuteAgain : Function::kExecute, scope, limit);
    if (CallResult failure = run.Prepare(call); failure.failed) return failure;
    std::unique_ptr<Received<Reply<Events>>> events;
    CallResult result;
    if (again) {
      ObjectCall<RunAgainForm> message{context.token, {}};
      run.Fill(message.args);
      result = call.Make(message, events);
    } else {
      ObjectCall<RunForm> message{context.token, {}};
      run.Fill(message.args);
      result = call.Make(message, events);
      if (events != nullptr) context.run.Remember(*args);
    }
    if (!result.failed) run.Finish(call);
    if (!result.failed && measures) context.limit.Ended(bytes, Clock::now() - begin);
    if (events != nullptr) Deliver((*events)->payload, context.sink);
    return result;
  });
}

}  // namespace deputy::host
