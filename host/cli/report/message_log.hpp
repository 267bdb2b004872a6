// The messages of the library while a command runs, for its report.
#pragma once

#include <cstddef>
#include <mutex>
#include <string_view>

#include "cli/report/json_report.hpp"
#include "deputy/context.hpp"

namespace deputy::cli {

// Keeps the first `most` messages, and counts the others. [any-thread]
class MessageLog {
 public:
  explicit MessageLog(size_t most = 10000) : most_(most) {}

  void Add(LogLevel level, std::string_view source, std::string_view message);
  // In their order: `level`, `source` and `message`, as in `log: {format: json}`. If some were left out, the last one
  // says how many.
  Json ToJson() const;

 private:
  const size_t most_;
  mutable std::mutex mutex_;
  Json messages_ = Json::array();
  size_t left_out_ = 0;
};

}  // namespace deputy::cli
