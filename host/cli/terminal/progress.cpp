#include "cli/terminal/progress.hpp"

#include <fmt/format.h>
#include <signal.h>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "cli/messages.hpp"
#include "cli/terminal/quantity.hpp"
#include "cli/terminal/table.hpp"
#include "cli/terminal/terminal.hpp"

namespace deputy::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kQuietFor = std::chrono::seconds(1);
constexpr auto kBetweenDrawings = std::chrono::milliseconds(100);

// Drawn by a thread of its own: a single step may take minutes without a call. Never destroyed, since that thread runs
// until the process ends.
class ProgressLine {
 public:
  static ProgressLine& Get() {
    static ProgressLine* const line = new ProgressLine;
    return *line;
  }

  std::mutex& mutex() { return mutex_; }

  // The rest under the mutex.
  void Set(const std::string& work, const std::string& stage) {
    if (text_.empty()) since_ = Clock::now();
    work_ = work;
    text_ = work + (work.empty() || stage.empty() ? "" : ": ") + stage;
    if (!running_) Start();
    changed_.notify_one();
  }
  void SetStage(const std::string& stage) { Set(std::string(work_), stage); }
  void Erase() {
    if (drawn_.empty()) return;
    Write("\r\x1b[K");
    drawn_.clear();
  }
  void End() {
    Erase();
    work_.clear();
    text_.clear();
  }

 private:
  static void Write(const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), stderr);
    std::fflush(stderr);
  }

  // Signals go to the threads that the program knows.
  void Start() {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      std::thread([this] { Run(); }).detach();
      running_ = true;
    } catch (const std::exception&) {  // no further thread: nothing is drawn, and the work goes on
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  [[noreturn]] void Run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      if (text_.empty()) {
        changed_.wait(lock);
      } else if (const auto due = since_ + kQuietFor; Clock::now() < due) {
        changed_.wait_until(lock, due);
      } else {
        Draw();
        lock.unlock();
        std::this_thread::sleep_for(kBetweenDrawings);
        lock.lock();
      }
    }
  }

  void Draw() {
    const Terminal terminal = TerminalOf(stderr);
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - since_).count();
    const std::string time = fmt::format("  {} s", seconds);
    // The last column stays free: a cursor behind it would be in the next line.
    const std::string line = ShortenMiddle(Printable(text_), terminal.columns - 1 - time.size(), terminal) + time;
    if (line == drawn_) return;
    Write("\r" + terminal.Paint(Paint::kDim, line).text() + "\x1b[K");
    drawn_ = line;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::string work_;   // of the command; empty: it has not named any
  std::string text_;   // with the stage of the library; empty: nothing takes long
  std::string drawn_;  // empty: there is no line
  Clock::time_point since_;
  bool running_ = false;
};

std::atomic<uint64_t>& CounterOf(ProgressStage stage) {
  static std::array<std::atomic<uint64_t>, kProgressStages> counters{};
  return counters[static_cast<size_t>(stage)];
}

bool IsShown() {
  static const bool on_a_terminal = [] {
    const char* kind = std::getenv("TERM");
    return TerminalOf(stderr).tty && kind != nullptr && std::strcmp(kind, "dumb") != 0;
  }();
  return on_a_terminal && TheVerbosity() != Verbosity::kQuiet;
}

// A delegate reports how far a compilation is that was reported already.
bool IsStep(const Progress& progress) { return progress.permille != 0 || !progress.step.empty(); }

}  // namespace

void ShowProgress(const std::string& text) {
  if (!IsShown()) return;
  const std::lock_guard lock(ProgressLine::Get().mutex());
  ProgressLine::Get().Set(text, "");
}

void ClearProgress() {
  if (!IsShown()) return;
  const std::lock_guard lock(ProgressLine::Get().mutex());
  ProgressLine::Get().End();
}

ProgressPause::ProgressPause() {
  if (!IsShown()) return;
  lock_ = std::unique_lock(ProgressLine::Get().mutex());
  ProgressLine::Get().Erase();
}

std::string ProgressText(const Progress& progress) {
  const std::string of = progress.count < 2 ? "" : fmt::format(" {} of {}", progress.number, progress.count);
  const std::string nodes = progress.nodes == 0 ? "" : ", " + Plural(progress.nodes, "node");
  switch (progress.stage) {
    case ProgressStage::kScan: return fmt::format("checking plugin {}", progress.subject);
    case ProgressStage::kOpen: return fmt::format("{}: opening", progress.delegate);
    case ProgressStage::kImport: return fmt::format("{}: reading", progress.subject);
    case ProgressStage::kPasses: return fmt::format("{}: simplifying the graph{}", progress.subject, nodes);
    case ProgressStage::kPlacement:
      return fmt::format("{}: placing {}", progress.subject, Plural(progress.nodes, "node"));
    case ProgressStage::kCompile: {
      const std::string step = !IsStep(progress) ? ""
                               : progress.step.empty()
                                   ? fmt::format(", {} %", progress.permille / 10)
                                   : fmt::format(", {} %: {}", progress.permille / 10, progress.step);
      return fmt::format("{}: compiling partition{}{}{}", progress.delegate, of.empty() ? " 1 of 1" : of, nodes, step);
    }
    case ProgressStage::kVerification:
      return fmt::format("{}: verifying partition {}{}", progress.delegate, progress.subject, nodes);
    case ProgressStage::kMeasurement:
      return fmt::format("measuring placement {}: {}", progress.number, progress.subject);
  }
  return "";
}

void ReportProgress(const Progress& progress) {
  if (!IsStep(progress)) CounterOf(progress.stage).fetch_add(1);
  const std::string text = ProgressText(progress);
  if (IsShown()) {
    const std::lock_guard lock(ProgressLine::Get().mutex());
    ProgressLine::Get().SetStage(text);
  }
  // Some delegates compile every node alone.
  const bool repeats = progress.stage == ProgressStage::kCompile && progress.nodes == 1 && progress.number > 1;
  if (TheVerbosity() == Verbosity::kVerbose && !repeats) PrintMessage(LogLevel::kDebug, "host", text);
}

uint64_t ProgressCount(ProgressStage stage) { return CounterOf(stage); }

}  // namespace deputy::cli
