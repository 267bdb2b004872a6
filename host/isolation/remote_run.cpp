#include "isolation/remote_run.hpp"

#include <memory>

#include "isolation/remote_delegate.hpp"
#include "isolation/run_transfer.hpp"

namespace deputy::host {

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
    CallDeadline limit(link.options(), *args);
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
    if (events != nullptr) Deliver((*events)->payload, context.sink);
    return result;
  });
}

}  // namespace deputy::host
