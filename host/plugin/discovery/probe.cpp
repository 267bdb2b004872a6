#include "plugin/discovery/probe.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <span>
#include <string>
#include <utility>

#include "base/log.hpp"
#include "base/worker_process.hpp"
#include "plugin/checks/text.hpp"
#include "plugin/discovery/plugin_parts.hpp"
#include "plugin/discovery/probe_wire.hpp"

namespace deputy::host {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kOutputPause{2};
// The trial of all delegates has this many times the limit of the answers before it: devices take long to open.
constexpr int kTrialFactor = 5;

uint64_t NewNonce() {
  uint64_t nonce = 0;
  if (getrandom(&nonce, sizeof nonce, 0) != sizeof nonce)
    nonce = static_cast<uint64_t>(Clock::now().time_since_epoch().count()) ^ static_cast<uint64_t>(getpid());
  return nonce;
}

// Output of the plugin while it is probed: the first lines go to the log, the last one into the reason of a refusal;
// the others are dropped.
class Output {
 public:
  explicit Output(std::string source) : source_(std::move(source)) {}

  void Take(std::string_view bytes) {
    for (const char c : bytes) {
      if (c == '\n') {
        EndLine();
      } else if (line_.size() < kMaxLine) {
        line_ += c;
      }
    }
  }
  const std::string& LastLine() {
    EndLine();
    return last_;
  }

 private:
  static constexpr size_t kMaxLine = 256;
  static constexpr size_t kMaxLogged = 20;

  void EndLine() {
    const std::string line = CleanText(line_);
    line_.clear();
    const size_t begin = line.find_first_not_of(' ');
    if (begin == std::string::npos) return;
    last_ = line.substr(begin);
    if (++lines_ <= kMaxLogged && LogEnabled(LogLevel::kDebug, source_)) LogLine(LogLevel::kDebug, source_, last_);
  }

  std::string source_, line_, last_;
  size_t lines_ = 0;
};

// Reads the available bytes, up to a bound. False at the end of the pipe.
template <class Consume>
bool Drain(int fd, Consume consume) {
  std::array<char, 16384> buffer;
  for (int round = 0; round < 16; ++round) {
    const ssize_t got = read(fd, buffer.data(), buffer.size());
    if (got == 0) return false;
    if (got < 0) return errno == EAGAIN || errno == EINTR;
    consume(std::string_view(buffer.data(), static_cast<size_t>(got)));
  }
  return true;
}

std::string SignalName(int signal) {
  const char* name = sigabbrev_np(signal);
  return name == nullptr ? fmt::format("signal {}", signal) : fmt::format("SIG{}", name);
}

// The time for which a process could have run and did not, if that is why it is late: all of its threads had less than
// a quarter of the time, and the first one waited for more, as the kernel counts it; 0 where it does not.
std::chrono::nanoseconds StarvedFor(pid_t probe, std::chrono::milliseconds timeout) {
  std::ifstream file(fmt::format("/proc/{}/schedstat", probe));
  uint64_t ran_first = 0, waited = 0;
  if (!(file >> ran_first >> waited)) return {};
  const std::chrono::nanoseconds used = ProcessorTimeOf(probe), lost(waited);
  return used < timeout / 4 && lost > timeout / 4 ? lost : std::chrono::nanoseconds(0);
}

Rejection EndedWithoutAnswer(const std::optional<int>& status, const ProbeStream& stream) {
  const char* when = TextOf(stream.stage());
  // Its status went to the application, which collects all children: nothing tells whose doing the end was.
  if (!status && stream.pending() == 0)
    return {RejectReason::kProbeKilled, fmt::format("ended {}, and the application collected its status", when)};
  if (status && WIFSIGNALED(*status) && WTERMSIG(*status) == SIGKILL)
    return {RejectReason::kProbeKilled, fmt::format("was ended by SIGKILL {}", when)};
  if (status && WIFSIGNALED(*status) && WTERMSIG(*status) == SIGSYS)
    return {RejectReason::kProbeCrashed, fmt::format("{} {}", HowItEnded(status), when)};
  if (status && WIFSIGNALED(*status))
    return {RejectReason::kProbeCrashed, fmt::format("crashed with {} {}", SignalName(WTERMSIG(*status)), when)};
  if (stream.pending() != 0)
    return {RejectReason::kProbeGarbage, fmt::format("ended in the middle of its answer {}", when)};
  if (status && WIFEXITED(*status))
    return {RejectReason::kProbeExited,
            fmt::format("ended the process with exit status {} {}, without an answer", WEXITSTATUS(*status), when)};
  return {RejectReason::kProbeExited, fmt::format("ended the process {}, without an answer", when)};
}

}  // namespace

Checked<PluginDescription> Probe(const std::filesystem::path& plugin, const ProbeOptions& options,
                                 std::vector<PluginPart>* mapped) {
  const uint64_t nonce = NewNonce();
  Result<std::unique_ptr<WorkerProcess>> started =
      WorkerProcess::Start(options.worker,
                           {"probe", plugin.string(), options.sandbox ? "sandbox" : "user",
                            fmt::format("{:016x}", nonce), std::to_string(getpid())},
                           {WorkerProcess::ReplyKind::kPipe, options.sandbox, options.environment});
  if (!started.ok())
    return Rejection{RejectReason::kNoWorker,
                     fmt::format("cannot be probed: the program {}", started.status().ToString())};
  WorkerProcess& worker = **started;
  ProbeStream stream(nonce);
  Output output(plugin.filename().string());
  std::chrono::milliseconds limit = options.timeout;
  Clock::time_point deadline = Clock::now() + limit;
  const auto take_output = [&] { return Drain(worker.output_fd(), [&](std::string_view text) { output.Take(text); }); };
  const auto take_reply = [&] {
    bool sound = true;
    const bool open = Drain(worker.reply_fd(), [&](std::string_view bytes) {
      sound = stream.Feed({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
    });
    return open && sound;
  };

  bool reply_open = true, output_open = true, ended = false;
  Clock::time_point next_output{};
  while (!ended && !stream.reply() && stream.fault().empty()) {
    const Clock::time_point now = Clock::now();
    auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - now);
    if (left.count() <= 0) break;
    // Output is read at intervals: one wake-up for each line would be expensive for both processes.
    const bool watch_output = output_open && now >= next_output;
    if (output_open && !watch_output) left = std::min(left, kOutputPause);
    const WorkerProcess::Ready ready = worker.Wait(left, reply_open, watch_output);
    if (ready.output) {
      output_open = take_output();
      next_output = Clock::now() + kOutputPause;
    }
    // Also when the process has ended: its last frames may still be in the pipe.
    if (ready.reply || (ready.ended && reply_open)) reply_open = take_reply();
    ended = ready.ended;
    // Once: the other end could announce it again and again.
    if (stream.stage() >= ProbeStage::kOpen && limit == options.timeout) {
      limit *= kTrialFactor;
      deadline = Clock::now() + limit;
    }
  }
  const bool late = !ended && !stream.reply() && stream.fault().empty();
  const std::chrono::nanoseconds waited = late ? StarvedFor(worker.pid(), limit) : std::chrono::nanoseconds(0);
  const std::optional<int> status = worker.Finish();
  if (output_open) take_output();
  // Named by the other process, looked up by this one.
  std::vector<PluginPart> libraries;
  for (const PluginPart& named : stream.mapped()) {
    libraries.push_back(PartAt(named.path));
    libraries.back().at_load = named.at_load;
  }
  if (mapped != nullptr) *mapped = libraries;

  Rejection rejection;
  const std::vector<std::string> refused = worker.refused_calls();
  if (stream.reply()) {
    if (const Rejection* given = RejectionOf(*stream.reply()))
      return Rejection{given->reason, given->text + RefusedText(refused)};
    PluginDescription description = std::get<PluginDescription>(*stream.reply());
    description.mapped = std::move(libraries);
    description.refused_calls = refused;
    return description;
  }
  if (late) {
    rejection = {RejectReason::kProbeTimedOut,
                 fmt::format("gave no answer within {} {}", TimeText(limit), TextOf(stream.stage()))};
    if (waited.count() != 0) {
      rejection.reason = RejectReason::kProbeStarved;
      rejection.text += fmt::format(", and waited for a processor for {}",
                                    TimeText(std::chrono::ceil<std::chrono::milliseconds>(waited)));
    }
  } else if (!stream.fault().empty()) {
    rejection = {RejectReason::kProbeGarbage, "gave an invalid answer: " + stream.fault()};
  } else {
    rejection = EndedWithoutAnswer(status, stream);
  }
  if (!output.LastLine().empty()) rejection.text += fmt::format("; its last output was '{}'", output.LastLine());
  rejection.text += RefusedText(refused);
  return rejection;
}

}  // namespace deputy::host
