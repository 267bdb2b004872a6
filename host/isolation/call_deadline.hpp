// How long a call to a worker process may take: one object for the call and for all of its messages. What the worker
// sends does not change it, but for the progress of a compilation.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "deputy/abi/delegate.h"
#include "isolation/serve.hpp"
#include "isolation/time_limit.hpp"

namespace deputy::host {

class CallDeadline final : public TimeLimit {
 public:
  // Of a call that is not a run: call_timeout. `outer`, which may be null, is the limit of the run that needs the call.
  explicit CallDeadline(const RemotePluginOptions& options, const CallDeadline* outer = nullptr);
  // The same, and no longer than `most`.
  CallDeadline(const RemotePluginOptions& options, std::chrono::milliseconds most);
  // Of a run, which may have neither a timeout (0) nor a deadline.
  CallDeadline(std::chrono::milliseconds timeout, const deputy_run_args& run);
  // The run is among so many in the queues of its delegate: it has the time of each, since it began.
  void AllowFor(uint32_t runs);

  // Of a compilation. A step that is further than all before it starts call_timeout again, up to call_timeout_total.
  void Advance(uint32_t permille);
  // "did not answer a call within 30000 ms"
  std::string Fault() const;
  // The limit that ends the call: of FaultLimits.
  std::string_view name() const;

 private:
  enum class Kind { kCall, kRun, kDeadline };

  Kind kind_;
  std::chrono::milliseconds timeout_;
  uint64_t run_deadline_ns_ = 0;
  Clock::time_point begin_{};                              // of a run
  Clock::time_point last_end_ = Clock::time_point::max();  // of all steps
  std::chrono::milliseconds total_{};
  uint32_t furthest_ = 0;
};

}  // namespace deputy::host
