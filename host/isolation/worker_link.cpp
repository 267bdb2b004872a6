#include "isolation/worker_link.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <future>
#include <new>
#include <utility>

#include "base/log.hpp"
#include "base/printable.hpp"
#include "base/spin.hpp"
#include "base/thread.hpp"
#include "isolation/worker_limits.hpp"

namespace deputy::host {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kTimeToEnd{2000};
// The watcher turns to its other work after this time, though more may have arrived.
constexpr std::chrono::milliseconds kTurn{20};
// An attempt to send a message on the control socket, and all of one for a cancel.
constexpr std::chrono::milliseconds kControlWait{100};
// A worker that reads nothing there for longer is ended, also where no call waits for it.
constexpr std::chrono::milliseconds kMostUnread{3000};
// Messages that are still taken when the process has ended: another process may go on sending them.
constexpr int kMostAfterEnd = 1000;
constexpr size_t kMostIdleChannels = 64;

deputy_str Str(std::string_view text) { return {text.data(), text.size()}; }

// False: memory was lacking. An exception that leaves a thread of the host would end the application.
template <class Work>
bool WithMemory(Work work) {
  try {
    work();
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

std::string_view View(const deputy_str& text) {
  return text.data == nullptr ? std::string_view() : std::string_view(text.data, text.size);
}

}  // namespace

// What the worker writes to its standard output and error: lines of the log at the level of debugging.
class WorkerLink::Output {
 public:
  explicit Output(LimitedLog& log) : log_(log) {}

  // Reads what is there. False at the end.
  bool Take(int descriptor) {
    std::array<char, 16384> buffer;
    const ssize_t got = read(descriptor, buffer.data(), buffer.size());
    if (got == 0) return false;
    if (got < 0) return errno == EAGAIN || errno == EINTR;
    for (ssize_t i = 0; i < got; ++i) {
      const char c = buffer[static_cast<size_t>(i)];
      if (c == '\n')
        EndLine();
      else if (line_.size() < kMaxLine)
        line_ += c >= ' ' && c != 127 ? c : ' ';
    }
    return true;
  }

 private:
  static constexpr size_t kMaxLine = 512;

  void EndLine() {
    if (!line_.empty()) log_.Line(LogLevel::kDebug, line_);
    line_.clear();
  }

  LimitedLog& log_;
  std::string line_;
};

std::string PrintableReason(std::string_view text) {
  constexpr size_t kMostReason = 2000;
  return text.empty() ? "failed without a reason" : Printable(text, kMostReason);
}

WorkerLink::WorkerLink(const RemotePluginOptions& options)
    : options_(options),
      limits_(LimitsOfSurroundings(options)),
      memory_(options.memory_limit),
      log_(options.file.filename().string()),
      spin_(AvailableCpus() > 1 ? options.spin : std::chrono::nanoseconds(0)) {
  idle_.reserve(kMostIdleChannels);  // a call that ends cannot fail
}

Result<std::unique_ptr<WorkerLink>> WorkerLink::Start(const RemotePluginOptions& options) {
  std::unique_ptr<WorkerLink> link(new WorkerLink(options));
  DEPUTY_RETURN_IF_ERROR(link->Begin());
  if (options.arenas != nullptr) options.arenas->Add(*link);
  return link;
}

Status WorkerLink::Begin() {
  label_ = fmt::format("plugin {} in its worker process", log_.source());
  output_ = std::make_unique<Output>(log_);
  // The kernel ends the worker with the thread that started it, so that is the one which lives as long.
  const auto started = std::make_shared<std::promise<Status>>();
  std::future<Status> result = started->get_future();
  DEPUTY_ASSIGN_OR_RETURN(watcher_, StartThread([this, started] {
                            Status status;
                            if (!WithMemory([&] { status = StartProcess(); }))
                              status = Status(StatusCode::kResourceExhausted, "lacks memory");
                            if (!status.ok() && process_ != nullptr) process_->Kill();
                            started->set_value(std::move(status));
                            if (process_ != nullptr) Watch();
                          }));
  Status status = result.get();
  if (!status.ok()) return std::move(status).At(label_);
  return {};
}

Status WorkerLink::StartProcess() {
  const std::vector<std::string> arguments{"serve", options_.file.string(), options_.sandbox ? "sandbox" : "user",
                                           std::to_string(options_.memory_limit), std::to_string(getpid())};
  DEPUTY_ASSIGN_OR_RETURN(
      process_, WorkerProcess::Start(options_.worker, arguments,
                                     {WorkerProcess::ReplyKind::kSocket, options_.sandbox, options_.environment}));
  memory_.Begin(process_->pid());
  Status status = AwaitHello();
  if (status.ok()) return status;
  return Status(status.code(), status.message() + RefusedText(process_->refused_calls()));
}

Status WorkerLink::AwaitHello() {
  const TimeLimit limit = TimeLimit::Within(options_.call_timeout);
  FrameReader reader;
  bool watch_output = true;
  for (Transfer got = Transfer::kPending; got != Transfer::kDone;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(limit.left());
    if (left.count() <= 0) return Status(StatusCode::kDeadlineExceeded, "was not loaded in time");
    const WorkerProcess::Ready ready = process_->Wait(UntilLook(left), true, watch_output);
    if (const std::string fault = memory_.Look(); !fault.empty())
      return Error(StatusCode::kPlugin, "the process {} while it was loaded", fault);
    if (ready.output) watch_output = output_->Take(process_->output_fd());
    if (ready.reply) got = reader.Take(process_->reply_fd(), limit);
    if (got == Transfer::kOverdue) continue;
    if ((got != Transfer::kDone && got != Transfer::kPending) || (ready.ended && !ready.reply))
      return Error(StatusCode::kPlugin, "the process {} while it was loaded", HowItEnded(process_->Finish()));
  }
  WireFrame frame = std::move(reader.frame());
  if (frame.kind == FrameKind::kNotice && frame.function == Function::kEnding)
    return Error(StatusCode::kPlugin, "the process {} while it was loaded", HowItEnded(process_->Finish()));
  const bool named = frame.kind == FrameKind::kNotice && frame.function == Function::kHello;
  hello_ = std::make_unique<Received<Hello>>(std::move(frame));
  if (!named || !hello_->valid() || hello().version != kWireVersion)
    return Status(StatusCode::kIncompatible, "its first message cannot be read; is the worker of another version?");
  if (hello().refusal.size != 0) return Status(StatusCode::kPlugin, PrintableReason(View(hello().refusal)));
  label_ = fmt::format("plugin {} ({}) in its worker process", Printable(View(hello().id)), log_.source());
  return {};
}

WorkerLink::~WorkerLink() {
  if (options_.arenas != nullptr) options_.arenas->Remove(*this);
  if (process_ != nullptr) {
    shutdown(process_->reply_fd(), SHUT_WR);  // it ends itself
    std::unique_lock lock(mutex_);
    idle_.clear();
    if (!changed_.wait_for(lock, kTimeToEnd, [&] { return ended_.has_value(); })) Kill();
  }
  if (watcher_.joinable()) watcher_.join();
}

void WorkerLink::Kill() {
  if (!collecting_) process_->Kill();
}

std::unique_ptr<Channel> WorkerLink::Acquire(const TimeLimit& limit) {
  std::unique_ptr<Channel> channel;
  {
    const std::lock_guard lock(mutex_);
    if (ended_ || !condemned_.empty()) return nullptr;
    if (!idle_.empty()) {
      channel = std::move(idle_.back());
      idle_.pop_back();
      used_.push_back(channel.get());
      return channel;
    }
  }
  channel = NewChannel(limit);
  if (channel == nullptr) return nullptr;
  const std::lock_guard lock(mutex_);
  if (ended_ || !condemned_.empty()) channel->End();
  used_.push_back(channel.get());
  return channel;
}

std::unique_ptr<Channel> WorkerLink::NewChannel(const TimeLimit& limit) {
  Descriptor theirs[2];
  std::unique_ptr<Channel> channel = Channel::Make(++last_channel_, spin_, theirs);
  if (channel == nullptr) return nullptr;
  host::Log(LogLevel::kDebug, "a channel to a worker process polls for up to {} us before it sleeps",
            spin_.count() / 1000);
  const Transfer sent =
      SendControl(Function::kNewChannel, Encode(Nothing()), limit, {theirs[0].get(), theirs[1].get()});
  // Where the socket is closed the worker has ended, which the use of the channel shows.
  return sent == Transfer::kOverdue ? nullptr : std::move(channel);
}

// Hundreds of messages have room until the worker reads them. Each is small: it is sent as a whole, or not at all.
// Other threads send their own between two attempts.
Transfer WorkerLink::SendControl(Function function, const std::vector<uint64_t>& words, const TimeLimit& limit,
                                 const std::vector<int>& descriptors) {
  while (true) {
    {
      const std::lock_guard lock(sending_);
      const Transfer sent = SendFrame(process_->reply_fd(), {FrameKind::kNotice, function}, words, descriptors,
                                      limit.AtMost(kControlWait));
      if (sent != Transfer::kOverdue) {
        unread_since_.reset();
        return sent;
      }
      if (!unread_since_) unread_since_ = Clock::now();
      if (Clock::now() - *unread_since_ > kMostUnread) Condemn("does not read what it is sent");
    }
    if (limit.is_over()) return Transfer::kOverdue;
  }
}

bool WorkerLink::has_ended() {
  const std::lock_guard lock(mutex_);
  return ended_ || !condemned_.empty();
}

std::string WorkerLink::OwnFault() {
  const std::lock_guard lock(mutex_);
  std::string fault = condemned_;
  if (fault.empty() && ended_ && !end_unknown_ && *ended_ != HowItEnded(SIGKILL)) fault = *ended_;
  return fault.empty() ? fault : fault + RefusedText(refused_calls());
}

void WorkerLink::Release(std::unique_ptr<Channel> channel, bool sound) noexcept {
  const std::lock_guard lock(mutex_);
  std::erase(used_, channel.get());
  if (sound && !ended_ && condemned_.empty() && idle_.size() < kMostIdleChannels) idle_.push_back(std::move(channel));
}

FaultLimits WorkerLink::fault_limits() {
  FaultLimits limits = limits_;
  const std::lock_guard lock(mutex_);
  limits.Add(LimitsOfTime(options_, exceeded_));
  return limits;
}

std::string WorkerLink::Condemn(std::string_view fault, std::string_view limit) {
  std::string text = fmt::format("its worker process {}", fault);
  const std::lock_guard lock(mutex_);
  if (!ended_ && condemned_.empty()) {
    condemned_ = fault;
    exceeded_ = limit;
    Kill();
    idle_.clear();
    changed_.notify_all();
  }
  return text;
}

void WorkerLink::Abandon() noexcept {
  const std::lock_guard lock(mutex_);
  if (!ended_) Kill();
}

std::string WorkerLink::HowLost(const TimeLimit& limit) {
  std::unique_lock lock(mutex_);
  // A closed channel and an end that is not yet seen are moments apart; a worker that closes one without reason is not
  // waited for.
  constexpr std::chrono::nanoseconds kMoment = std::chrono::milliseconds(500), kMost = std::chrono::milliseconds(2000);
  const std::chrono::nanoseconds moment = std::clamp(limit.left(), kMoment, kMost);
  if (!changed_.wait_for(lock, moment, [&] { return ended_.has_value() || !condemned_.empty(); })) {
    condemned_ = "closed a channel";
    Kill();
  }
  if (!condemned_.empty()) return fmt::format("its worker process was ended, because it {}", condemned_);
  return fmt::format("its worker process {}", ended_.value_or("cannot be reached"));
}

void WorkerLink::Cancel(Function function, uint64_t context, uint64_t run) {
  (void)SendControl(function, Encode(TwoNumbers{context, run}), TimeLimit::Within(kControlWait));
}

void WorkerLink::RememberHost(uint64_t key, const deputy_host* host) {
  const std::lock_guard lock(hosts_mutex_);
  hosts_[key] = host;
}

void WorkerLink::ForgetHost(uint64_t key) {
  const std::lock_guard lock(hosts_mutex_);
  hosts_.erase(key);
}

void WorkerLink::Log(const LogForm& line) {
  const std::lock_guard lock(hosts_mutex_);  // the host does not go away meanwhile
  const auto found = hosts_.find(line.host);
  const deputy_str text = line.message.data == nullptr ? Str("") : line.message;
  if (found != hosts_.end()) return found->second->log(found->second->self, line.level, text.data, text.size);
  const auto level =
      static_cast<LogLevel>(std::clamp<deputy_log_level>(line.level, DEPUTY_LOG_DEBUG, DEPUTY_LOG_ERROR));
  if (!hosts_.empty()) {
    const deputy_host& first = *hosts_.begin()->second;
    return first.log(first.self, line.level, text.data, text.size);
  }
  log_.Line(level, View(text));
}

// What has arrived of a message on the control socket. False when there is nothing more to take from it.
bool WorkerLink::TakeControl() {
  const Transfer got = control_.Take(process_->reply_fd(), TimeLimit::Within(kTurn));
  if (got == Transfer::kClosed) return false;
  if (got == Transfer::kPending || got == Transfer::kOverdue) {
    if (!control_limit_ && control_.has_begun()) control_limit_ = TimeLimit::Within(kMostFrameTime);
    return true;
  }
  WireFrame frame = std::move(control_.frame());
  control_ = FrameReader();
  control_limit_.reset();
  const bool is_notice = got == Transfer::kDone && frame.kind == FrameKind::kNotice;
  if (is_notice && frame.function == Function::kEnding) {
    const Received<TwoNumbers> ending(std::move(frame));
    if (ending.valid()) ending_signal_ = static_cast<int>(std::min<uint64_t>(ending.message().first, 64));
    return true;
  }
  const bool is_log = is_notice && frame.function == Function::kLog;
  Received<LogForm> line(std::move(frame));
  if (!is_log || !line.valid()) {
    Condemn("sent an invalid message");
    return false;
  }
  Log(*line);
  return true;
}

std::chrono::milliseconds WorkerLink::UntilLook(std::chrono::milliseconds left) const {
  return memory_.is_limited() ? std::min(left, WorkerMemory::kBetweenLooks) : left;
}

void WorkerLink::Watch() {
  constexpr std::chrono::minutes kLong{10};
  bool control = true, output = true;
  // A worker without its control socket has no way back; the end of the process, which closes it, follows at once.
  std::optional<TimeLimit> limit;
  int after_end = 0;
  while (true) {
    std::chrono::nanoseconds left = kLong;
    if (limit) left = std::min(left, limit->left());
    if (control_limit_) left = std::min(left, control_limit_->left());
    if (limit && left.count() <= 0 && limit->is_over()) {
      WithMemory([&] { Condemn("closed its connection to the host and did not end"); });
      break;
    }
    const WorkerProcess::Ready ready =
        process_->Wait(UntilLook(std::chrono::ceil<std::chrono::milliseconds>(left)), control, output);
    WithMemory([&] {
      if (const std::string fault = memory_.Look(); !fault.empty()) Condemn(fault);
    });
    // Lines of the log may be lost. The rest of a message that was not read is an invalid one.
    if (ready.output) WithMemory([&] { output = output_->Take(process_->output_fd()); });
    if (ready.reply) WithMemory([&] { control = TakeControl(); });
    if (control && control_limit_ && control_limit_->is_over()) {
      WithMemory([&] { Condemn("did not end a message"); });
      control = false;
    }
    if (!control && !limit) limit = TimeLimit::Within(kTimeToEnd);
    if (ready.ended && (!ready.reply || ++after_end > kMostAfterEnd)) break;
  }
  {
    const std::lock_guard lock(mutex_);
    collecting_ = true;
  }
  std::optional<int> end = process_->Finish();
  // An application that collects all children, or ignores their ends, has its status. The worker tells of its own
  // faults before they end it; all else is another process' doing, such as the kernel's where memory is short.
  if (!end && ending_signal_ != 0) end = ending_signal_;
  const bool unknown = !end;
  std::string how = "has ended";
  WithMemory([&] {
    how = unknown ? "has ended; the application has collected its status" : HowItEnded(end);
    if (end && WIFSIGNALED(*end) && WTERMSIG(*end) == SIGKILL)
      if (std::string own = memory_.WhyKilled(process_->peak_memory()); !own.empty()) how = std::move(own);
  });
  for (int i = 0; output && i < 64; ++i) {
    pollfd more{process_->output_fd(), POLLIN, 0};
    if (poll(&more, 1, 0) <= 0) break;
    WithMemory([&] { output = output_->Take(process_->output_fd()); });
  }
  log_.ReportDropped();
  const std::lock_guard lock(mutex_);
  ended_ = std::move(how);
  end_unknown_ = unknown;
  idle_.clear();
  for (Channel* channel : used_) channel->End();
  changed_.notify_all();
}

}  // namespace deputy::host
