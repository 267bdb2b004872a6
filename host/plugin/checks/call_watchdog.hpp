// Load-time calls into plugins in this process that do not return: reported by a thread of its own, since nothing can
// end them.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace deputy::host {

// What is done about a call that has not returned in time; a report is made in both cases.
enum class HangAction { kReport, kAbort };

// How long a call may take; zero: it is not watched.
struct CallLimit {
  std::chrono::milliseconds time{};
  HangAction action = HangAction::kReport;
};

// A call that is in progress while this lives. Once its time has passed, one line of log at the level of errors names
// it: "plugin com.example.npu (npu.so): compile: has not returned for 30 s"; kAbort ends the process then by SIGABRT.
// `label`, `function` and `place` outlive it. [any-thread]
class WatchedCall {
 public:
  WatchedCall(const CallLimit& limit, std::string_view label, std::string_view function, std::string_view place);
  ~WatchedCall();
  WatchedCall(const WatchedCall&) = delete;
  WatchedCall& operator=(const WatchedCall&) = delete;

 private:
  friend class CallWatchdog;
  std::string Text() const;

  const CallLimit limit_;
  const std::string_view label_, function_, place_;
  const std::chrono::steady_clock::time_point due_;
  bool reported_ = false;
  WatchedCall* before_ = nullptr;
  WatchedCall* next_ = nullptr;
};

}  // namespace deputy::host
