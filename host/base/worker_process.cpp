#include "base/worker_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/file.hpp"
#include "base/judged_file.hpp"
#include "base/worker_environment.hpp"

extern char** environ;

namespace deputy::host {
namespace {

Status FromErrno(const std::filesystem::path& program, int error) {
  return Error(error == ENOENT ? StatusCode::kNotFound : StatusCode::kUnavailable, "cannot be started: {}",
               std::strerror(error))
      .At(program.string());
}

// The child's ends are moved out of the range that the child rearranges, so that no dup2 there can hit one of them.
bool Keep(const int (&ends)[2], Descriptor& ours, Descriptor& theirs) {
  ours.Replace(ends[0]);
  theirs.Replace(fcntl(ends[1], F_DUPFD_CLOEXEC, 10));
  close(ends[1]);
  return theirs.get() >= 0;
}

bool OpenPipe(Descriptor& ours, Descriptor& theirs) {
  int ends[2];
  return pipe2(ends, O_CLOEXEC) == 0 && Keep(ends, ours, theirs) && fcntl(ours.get(), F_SETFL, O_NONBLOCK) == 0;
}

bool OpenSocket(int type, Descriptor& ours, Descriptor& theirs) {
  int ends[2];
  return socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends) == 0 && Keep(ends, ours, theirs);
}

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  return pointers;
}

// What the process gets of this one's descriptors. `sandbox` is -1 where it enters none.
struct Ends {
  int reply, output, sandbox;
};

int Spawn(const std::filesystem::path& program, const std::vector<std::string>& arguments, const Ends& ends,
          char* const* environment, pid_t* pid) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  if (const int error = posix_spawn_file_actions_init(&actions)) return error;
  if (const int error = posix_spawnattr_init(&attributes)) {
    posix_spawn_file_actions_destroy(&actions);
    return error;
  }
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  std::vector<char*> argv = Pointers(arguments);
  argv.insert(argv.begin(), const_cast<char*>(program.c_str()));
  argv.push_back(nullptr);
  constexpr short kFlags = POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
  int error = 0;
  const auto step = [&](int result) {
    if (error == 0) error = result;
  };
  step(posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0));
  step(posix_spawn_file_actions_adddup2(&actions, ends.output, 1));
  step(posix_spawn_file_actions_adddup2(&actions, ends.output, 2));
  step(posix_spawn_file_actions_adddup2(&actions, ends.reply, kWorkerReplyFd));
  if (ends.sandbox >= 0) step(posix_spawn_file_actions_adddup2(&actions, ends.sandbox, kWorkerSandboxFd));
  step(posix_spawn_file_actions_addclosefrom_np(&actions, (ends.sandbox < 0 ? kWorkerReplyFd : kWorkerSandboxFd) + 1));
  step(posix_spawnattr_setflags(&attributes, kFlags));
  step(posix_spawnattr_setsigmask(&attributes, &none));
  step(posix_spawnattr_setsigdefault(&attributes, &all));
  if (error == 0) error = posix_spawn(pid, program.c_str(), &actions, &attributes, argv.data(), environment);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

}  // namespace

Result<std::unique_ptr<WorkerProcess>> WorkerProcess::Start(const std::filesystem::path& program,
                                                            const std::vector<std::string>& arguments,
                                                            const Options& options) {
  DEPUTY_RETURN_IF_ERROR(CheckInstalledFile(program));
  Descriptor reply, their_reply, output, their_output, sandbox, their_sandbox;
  const bool opened = (options.reply == ReplyKind::kPipe ? OpenPipe(reply, their_reply)
                                                         : OpenSocket(SOCK_STREAM, reply, their_reply)) &&
                      OpenPipe(output, their_output) &&
                      (!options.sandbox || OpenSocket(SOCK_SEQPACKET, sandbox, their_sandbox));
  if (!opened) return FromErrno(program, errno);
  std::vector<std::string> kept;
  std::vector<char*> environment;
  if (options.sandbox) {
    kept = WorkerEnvironment(options.environment);
    environment = Pointers(kept);
    environment.push_back(nullptr);
  }
  std::unique_ptr<WorkerProcess> process(new WorkerProcess);
  const Ends ends{their_reply.get(), their_output.get(), their_sandbox.get()};
  if (const int error =
          Spawn(program, arguments, ends, options.sandbox ? environment.data() : environ, &process->pid_)) {
    process->pid_ = -1;
    return FromErrno(program, error);
  }
  if (options.sandbox) {
    their_sandbox.Replace(-1);  // so that this side sees the end of the process
    process->refused_ = std::make_unique<RefusedCalls>(std::move(sandbox));
  }
  // Safe against a reused number: the process cannot vanish before it is collected. Without the call (old kernels)
  // Wait() polls every few milliseconds.
  process->pid_fd_ = static_cast<int>(syscall(SYS_pidfd_open, process->pid_, 0));
  process->reply_fd_ = reply.Release();
  process->output_fd_ = output.Release();
  return process;
}

WorkerProcess::~WorkerProcess() {
  Finish();
  for (const int fd : {pid_fd_, reply_fd_, output_fd_})
    if (fd >= 0) close(fd);
}

WorkerProcess::Ready WorkerProcess::Wait(std::chrono::milliseconds timeout, bool watch_reply, bool watch_output) {
  constexpr std::chrono::milliseconds kLook{5};
  pollfd watched[] = {
      {watch_reply ? reply_fd_ : -1, POLLIN, 0}, {watch_output ? output_fd_ : -1, POLLIN, 0}, {pid_fd_, POLLIN, 0}};
  const auto limit = pid_fd_ >= 0 ? timeout : std::min(timeout, kLook);
  const int count = poll(watched, 3, static_cast<int>(std::max<int64_t>(limit.count(), 0)));
  Ready ready;
  if (count > 0) {
    ready.reply = watched[0].revents != 0;
    ready.output = watched[1].revents != 0;
    ready.ended = watched[2].revents != 0;
  }
  if (pid_fd_ < 0) {
    siginfo_t info{};
    const int result = waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT);
    ready.ended = (result == 0 && info.si_pid == pid_) || (result != 0 && errno == ECHILD);
  }
  return ready;
}

void WorkerProcess::Kill() const {
  if (pid_ >= 0) kill(-pid_, SIGKILL);
}

std::optional<int> WorkerProcess::Finish() {
  if (pid_ < 0) return std::nullopt;
  // The group lives as long as its leader is not collected, so the number cannot have been given to others.
  kill(-pid_, SIGKILL);
  kill(pid_, SIGKILL);
  std::optional<int> collected;
  // SIGKILL ends a process at once unless it hangs in a driver; then it is left behind rather than waited for.
  constexpr int kPolls = 200;
  for (int i = 0; i < kPolls; ++i) {
    int status = 0;
    rusage usage{};
    const pid_t result = wait4(pid_, &status, WNOHANG, &usage);
    if (result == pid_) {
      collected = status;
      peak_memory_ = static_cast<uint64_t>(usage.ru_maxrss) << 10;
    }
    if (result == pid_ || (result < 0 && errno != EINTR)) break;
    pollfd ended{pid_fd_, POLLIN, 0};
    poll(&ended, pid_fd_ >= 0 ? 1 : 0, 5);
  }
  pid_ = -1;
  return collected;
}

std::chrono::nanoseconds ProcessorTimeOf(pid_t process) {
  clockid_t clock{};
  timespec used{};
  if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &used) != 0) return {};
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

std::string HowItEnded(const std::optional<int>& status) {
  if (status && WIFSIGNALED(*status)) {
    const char* name = sigabbrev_np(WTERMSIG(*status));
    if (WTERMSIG(*status) == SIGSYS) return "was ended by SIGSYS: a system call of an ABI that no sandbox has";
    return name != nullptr ? fmt::format("was ended by SIG{}", name)
                           : fmt::format("was ended by signal {}", WTERMSIG(*status));
  }
  if (status && WIFEXITED(*status)) return fmt::format("ended with exit status {}", WEXITSTATUS(*status));
  return "ended";
}

}  // namespace deputy::host
