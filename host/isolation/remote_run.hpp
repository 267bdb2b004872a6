// Runs of contexts in a worker process.
#pragma once

#include <cstdint>
#include <optional>

#include "deputy/abi/delegate.h"
#include "isolation/call.hpp"
#include "isolation/call_deadline.hpp"
#include "isolation/messages.hpp"
#include "isolation/run_transfer.hpp"

namespace deputy::host {

struct RemoteContext;

// From before it is sent until its result has been taken. One of a context at a time, by one thread at a time.
class RemoteRun {
 public:
  // Its limits begin here. What `args` points to lives as long.
  RemoteRun(RemoteContext& context, const deputy_run_args& args, const RunStart& start = {});
  ~RemoteRun();
  RemoteRun(const RemoteRun&) = delete;
  RemoteRun& operator=(const RemoteRun&) = delete;

  // Once, first. After a failure there is no run.
  CallResult Send();
  // Until the run has ended. False: the pause was before.
  bool Await(const CallPause& pause);
  // Until the delegate has begun the run, which it ends by itself. False: it has not, as the result says.
  bool AwaitSubmission();
  // How it ended. After a success its outputs are written.
  const CallResult& result() const { return *result_; }

  RemoteContext& context() const { return context_; }
  uint64_t number() const { return transfer_.args().run; }

 private:
  CallResult Finish(WireFrame frame);

  RemoteContext& context_;
  const RunStart start_;
  CallScope scope_;
  const std::optional<uint64_t> bytes_;  // of inputs, where these decide about the limit
  CallDeadline limit_;
  std::optional<TimeLimit::Clock::time_point> measured_since_;
  RunTransfer transfer_;
  bool again_ = false;  // the worker has the tensors of an earlier run
  std::optional<RemoteCall> call_;
  std::optional<CallResult> result_;
};

// deputy_delegate.execute
deputy_status* RemoteExecute(deputy_context* self, const deputy_run_args* args);

// Gives the events of a worker to a sink, which may be null.
void Deliver(const Events& events, const deputy_profile_sink* sink);

}  // namespace deputy::host
