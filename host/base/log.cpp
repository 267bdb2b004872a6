#include "base/log.hpp"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <condition_variable>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <mutex>
#include <utility>

#include "base/printable.hpp"

namespace deputy::host {
namespace {

constexpr size_t kLongestLine = 16 * 1024;

struct HeldSink {
  LogSink sink;
  uint64_t calls = 0;              // in progress
  std::unique_ptr<HeldSink> self;  // replaced from within a call: the last call that returns destroys it
};

// The sinks that this thread is inside of.
thread_local uint32_t sink_depth = 0;

// systemd names the device and the inode of the stream that it has connected. [any-thread]
bool IsJournal(int descriptor) {
  const char* const stream = secure_getenv("JOURNAL_STREAM");
  struct stat status {};
  return stream != nullptr && fstat(descriptor, &status) == 0 &&
         fmt::format("{}:{}", status.st_dev, status.st_ino) == stream;
}

// One object for the process, made on first use and never destroyed: threads of plugins may log until exit.
struct LogState {
  std::mutex mutex;
  LogSettings settings;
  const bool is_journal = IsJournal(STDERR_FILENO);
  std::unique_ptr<HeldSink> sink;  // null: stderr
  std::condition_variable sink_left;
  std::shared_ptr<spdlog::logger> logger = [] {
    auto made = std::make_shared<spdlog::logger>("deputy", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_level(spdlog::level::debug);
    made->set_pattern("%v");
    made->flush_on(spdlog::level::debug);
    return made;
  }();
};

LogState& State() {
  static LogState* state = new LogState;
  return *state;
}

// The name of a level in JSON and in front of a text, and its priority in the journal.
struct LevelWords {
  const char *name, *prefix, *priority;
};

LevelWords WordsOf(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug: return {"debug", "debug: ", "<7>"};
    case LogLevel::kWarning: return {"warning", "warning: ", "<4>"};
    case LogLevel::kError: return {"error", "error: ", "<3>"};
    case LogLevel::kInfo:
    case LogLevel::kOff: break;
  }
  return {"info", "", "<6>"};
}

// In UTC, with milliseconds.
std::string TimeText() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  std::tm utc{};
  gmtime_r(&now.tv_sec, &utc);
  std::array<char, 24> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &utc);
  return fmt::format("{}.{:03}Z", text.data(), now.tv_nsec / 1000000);
}

LogLineForm FormOf(LogFormat format) {
  switch (format) {
    case LogFormat::kJson: return LogLineForm::kJson;
    case LogFormat::kText: return LogLineForm::kText;
    case LogFormat::kAuto: break;
  }
  return State().is_journal ? LogLineForm::kJournal : LogLineForm::kText;
}

// The line of the default sink. `line` is printable.
std::string TextOf(LogLineForm form, LogLevel level, std::string_view source, std::string_view line) {
  const LevelWords words = WordsOf(level);
  const std::string from = Printable(source);
  if (form == LogLineForm::kJson)
    return fmt::format(R"({{"time": "{}", "level": "{}", "source": {}, "message": {}}})", TimeText(), words.name,
                       InQuotes(from), InQuotes(line));
  return fmt::format("{}{}{}{}{}", form == LogLineForm::kJournal ? words.priority : "", words.prefix,
                     source == "host" ? "" : from, source == "host" ? "" : ": ", line);
}

// One call of a sink, outside the lock, which is held before and after. Moves the sink to `finished` if nothing else
// owns it any more.
class SinkCall {
 public:
  SinkCall(HeldSink& sink, std::unique_lock<std::mutex>& lock, std::unique_ptr<HeldSink>& finished)
      : sink_(sink), lock_(lock), finished_(finished) {
    ++sink_.calls;
    ++sink_depth;
    lock_.unlock();
  }
  ~SinkCall() {
    lock_.lock();
    --sink_depth;
    if (--sink_.calls != 0) return;
    State().sink_left.notify_all();
    finished_ = std::move(sink_.self);
  }
  SinkCall(const SinkCall&) = delete;
  SinkCall& operator=(const SinkCall&) = delete;

 private:
  HeldSink& sink_;
  std::unique_lock<std::mutex>& lock_;
  std::unique_ptr<HeldSink>& finished_;
};

}  // namespace

void SetLogLevel(LogLevel level) {
  std::lock_guard lock(State().mutex);
  State().settings.level = level;
}

void SetLogLevel(std::string_view source, LogLevel level) {
  std::lock_guard lock(State().mutex);
  State().settings.source_levels[std::string(source)] = level;
}

void UnsetLogLevel(std::string_view source) {
  std::lock_guard lock(State().mutex);
  State().settings.source_levels.erase(std::string(source));
}

void SetLogSink(LogSink sink) {
  // The objects that a sink owns are destroyed after the lock is released, since their destructors may log.
  std::unique_ptr<HeldSink> before;
  auto next = sink == nullptr ? nullptr : std::make_unique<HeldSink>(HeldSink{std::move(sink), 0, nullptr});
  std::unique_lock lock(State().mutex);
  before = std::exchange(State().sink, std::move(next));
  if (before == nullptr) return;
  if (sink_depth == 0) {
    State().sink_left.wait(lock, [&] { return before->calls == 0; });
  } else if (before->calls != 0) {
    HeldSink& replaced = *before;
    replaced.self = std::move(before);
  }
}

const char* NameOf(LogLevel level) { return WordsOf(level).name; }

bool LogEnabled(LogLevel level, std::string_view source) {
  std::lock_guard lock(State().mutex);
  const LogSettings& settings = State().settings;
  const auto found = settings.source_levels.find(source);
  return level >= (found == settings.source_levels.end() ? settings.level : found->second);
}

void SetLogFormat(LogFormat format) {
  std::lock_guard lock(State().mutex);
  State().settings.format = format;
}

LogSettings CurrentLogSettings() {
  std::lock_guard lock(State().mutex);
  return State().settings;
}

void SetLogSettings(LogSettings settings) {
  std::lock_guard lock(State().mutex);
  std::swap(State().settings, settings);
}

LogLineForm LogLineFormInUse() {
  std::lock_guard lock(State().mutex);
  return FormOf(State().settings.format);
}

std::string LogText(LogLevel level, std::string_view source, std::string_view message) {
  return TextOf(LogLineFormInUse(), level, source, Printable(message, kLongestLine));
}

void LogLine(LogLevel level, std::string_view source, std::string_view message) {
  // Every message, including quoted names of models and texts of plugins, is one line without terminal escapes.
  const std::string line = Printable(message, kLongestLine);
  std::unique_ptr<HeldSink> finished;  // destroyed after the lock is released
  std::unique_lock lock(State().mutex);
  if (HeldSink* const held = State().sink.get()) {
    const SinkCall call(*held, lock, finished);
    held->sink(level, source, line);
    return;
  }
  const LogLineForm form = FormOf(State().settings.format);
  lock.unlock();
  State().logger->log(spdlog::level::info, spdlog::string_view_t(TextOf(form, level, source, line)));
}

}  // namespace deputy::host
