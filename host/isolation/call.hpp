// A call to a worker process: sends the arguments, answers the worker's callbacks while it waits, and takes the result.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "deputy/abi/delegate.h"
#include "deputy/abi/ext/blob.h"
#include "deputy/abi/ext/devices.h"
#include "deputy/abi/ext/estimate.h"
#include "deputy/abi/ext/operators.h"
#include "deputy/abi/ext/partition_helpers.h"
#include "deputy/abi/ext/profiling.h"
#include "deputy/abi/ext/propose.h"
#include "isolation/call_deadline.hpp"
#include "isolation/worker_link.hpp"

namespace deputy::host {

// What the worker may use while a call is in progress: what the real function would have been given. A callback for
// anything else is not in the protocol.
struct CallScope {
  const deputy_host* host = nullptr;
  const deputy_graph* graph = nullptr;
  const deputy_control* control = nullptr;
  const deputy_support_sink* support = nullptr;
  const deputy_claim_sink* claims = nullptr;
  const deputy_group_sink* groups = nullptr;
  const deputy_device_sink* devices = nullptr;
  const deputy_estimate_sink* estimate = nullptr;
  const deputy_type_sink* types = nullptr;
  const deputy_debug_map_sink* debug_map = nullptr;
  const deputy_blob_sink* blob = nullptr;
  const deputy_run_args* run = nullptr;
};

// The result of a call, in this process.
struct CallResult {
  bool failed = false;
  deputy_code code = DEPUTY_OK;
  deputy_node_id node = DEPUTY_NO_NODE;
  std::string message;

  static CallResult Failure(deputy_code code, std::string message) {
    return {true, code, DEPUTY_NO_NODE, std::move(message)};
  }
  // The failure as a status of the host, or NULL.
  deputy_status* ToStatus(const deputy_host* host) const;
};

// The form of a host's table that its worker needs.
HostForm FormOf(const deputy_host* host);

class RemoteCall {
 public:
  // Takes a channel. `scope` outlives the call. Its limit begins here.
  RemoteCall(WorkerLink& link, Function function, const CallScope& scope)
      : own_limit_(std::in_place, link.options()),
        limit_(*own_limit_),
        link_(link),
        function_(function),
        scope_(scope),
        channel_(link.Acquire(limit_)) {}
  // A call with a limit that has begun, and that outlives it: that of a run.
  RemoteCall(WorkerLink& link, Function function, const CallScope& scope, CallDeadline& limit)
      : limit_(limit), link_(link), function_(function), scope_(scope), channel_(link.Acquire(limit)) {}
  // A call that has not returned, for lack of memory here, ends the worker, which goes on with what it was given.
  ~RemoteCall();
  RemoteCall(const RemoteCall&) = delete;
  RemoteCall& operator=(const RemoteCall&) = delete;

  WorkerLink& link() { return link_; }
  // Null when the worker has ended; Make() says so too.
  Channel* channel() { return channel_.get(); }
  // A descriptor that goes along with the arguments.
  void Attach(int descriptor) { descriptors_.push_back(descriptor); }

  // Once. On return `payload` is what the worker sent behind the outcome, or null when it sent nothing valid.
  template <class Payload, class Args>
  CallResult Make(const Args& args, std::unique_ptr<Received<Reply<Payload>>>& payload) {
    WireFrame frame;
    if (CallResult lost = Transact(Encode(args), frame); lost.failed) return Explained(std::move(lost));
    return Take(std::move(frame), payload);
  }
  template <class Args>
  CallResult Make(const Args& args) {
    std::unique_ptr<Received<Reply<Nothing>>> none;
    return Make(args, none);
  }

  // Make() in parts, for a call with pauses. Once each, but for Await(), which answers the worker until the call has
  // returned, with `returned`, or the pause.
  template <class Args>
  CallResult Send(const Args& args) {
    return Explained(SendWords(Encode(args)));
  }
  CallResult Await(WireFrame& frame, const CallPause& pause, bool& returned) {
    return Explained(Serve(frame, pause, returned));
  }
  template <class Payload>
  CallResult Take(WireFrame frame, std::unique_ptr<Received<Reply<Payload>>>& payload) {
    auto reply = std::make_unique<Received<Reply<Payload>>>(std::move(frame));
    if (!reply->valid()) return Explained(Invalid("a result that cannot be read"));
    CallResult result = Explained(ResultOf((*reply)->outcome));
    payload = std::move(reply);
    return result;
  }

  // The memory that the worker has asked for an output of extents unknown before the run.
  struct Allocated {
    uint32_t output;
    void* data;  // the host's
    uint64_t size;
    bool refused;  // a second time
  };
  const std::vector<Allocated>& allocated() const { return allocated_; }

  CallResult Invalid(std::string_view what);

 private:
  CallResult Transact(const std::vector<uint64_t>& words, WireFrame& frame);
  CallResult SendWords(const std::vector<uint64_t>& words);
  CallResult Serve(WireFrame& frame, const CallPause& pause, bool& returned);
  static CallResult ResultOf(const Outcome& outcome);
  // A failure also says what the sandbox has refused, which may be the cause.
  CallResult Explained(CallResult result) {
    if (result.failed) result.message += RefusedText(link_.refused_calls());
    return result;
  }
  // False: not in the protocol.
  bool TakeNotice(WireFrame frame);
  bool AnswerCallback(WireFrame frame);
  bool AnswerGraph(WireFrame& frame);
  bool AnswerConstant(WireFrame& frame);
  bool AnswerHelper(WireFrame& frame);
  bool AnswerSink(WireFrame& frame);
  bool Allocate(WireFrame& frame);
  template <class Payload>
  bool Answer(Function function, deputy_status* status, const Payload& payload, const std::vector<int>& with = {});
  // The failure of a call whose message did not go through.
  CallResult Lost(Transfer transfer);

  std::optional<CallDeadline> own_limit_;
  CallDeadline& limit_;
  WorkerLink& link_;
  const Function function_;
  const CallScope& scope_;
  std::unique_ptr<Channel> channel_;
  Transfer answered_ = Transfer::kDone;  // the last callback
  bool sound_ = true, in_progress_ = false;
  std::vector<int> descriptors_;
  std::vector<Allocated> allocated_;
  std::map<deputy_value_id, Descriptor> copies_;  // of constants in no file that were asked for
};

}  // namespace deputy::host
