#include "cli/report/message_log.hpp"

#include "cli/terminal/quantity.hpp"

namespace deputy::cli {
namespace {

Json Message(LogLevel level, std::string_view source, std::string_view message) {
  return {{"level", NameOf(level)}, {"source", source}, {"message", message}};
}

}  // namespace

void MessageLog::Add(LogLevel level, std::string_view source, std::string_view message) {
  const std::lock_guard guard(mutex_);
  if (messages_.size() == most_) {
    ++left_out_;
  } else {
    messages_.push_back(Message(level, source, message));
  }
}

Json MessageLog::ToJson() const {
  const std::lock_guard guard(mutex_);
  Json messages = messages_;
  if (left_out_ > 0)
    messages.push_back(Message(LogLevel::kWarning, "deputy", Plural(left_out_, "further message") + " left out"));
  return messages;
}

}  // namespace deputy::cli
