// Messages of EPs: passed on to the host's log, and kept for the reasons of answers.
#pragma once

#include <deque>
#include <mutex>
#include <string>

#include "api/types.hpp"
#include "deputy/sdk/host.hpp"

namespace ort {

// [any-thread]
struct Logger {
 public:
  // Without a host messages are only kept.
  explicit Logger(const deputy::sdk::Host& host = deputy::sdk::Host()) : host_(host) {}

  // Messages below it are neither kept nor passed on.
  static constexpr LoggingLevel kLevel = kInfo;

  void Log(LoggingLevel level, const char* message) const;

  // While the EP is asked, what it says about nodes that it does not take is no warning for the user's eyes.
  void SetQuiet(bool is_quiet) const;
  // The last messages since the last call, warnings and errors rather than others, in one line; "": none.
  std::string TakeReason() const;

 private:
  deputy::sdk::Host host_;
  mutable std::mutex mutex_;
  mutable bool is_quiet_ = false;
  mutable std::deque<std::pair<LoggingLevel, std::string>> lines_;
};

}  // namespace ort
