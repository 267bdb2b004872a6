#include "base/refused_calls.hpp"

#include <fmt/format.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <new>
#include <utility>

#include "base/thread.hpp"

namespace deputy::host {
namespace {

constexpr uint32_t kContinue = 1;  // SECCOMP_USER_NOTIF_FLAG_CONTINUE
constexpr size_t kMostNamed = 8;

bool IsThreadOf(uint32_t process, uint64_t thread) {
  return access(fmt::format("/proc/{}/task/{}", process, static_cast<uint32_t>(thread)).c_str(), F_OK) == 0;
}

// Whether a call is about one thread of the process that makes it, which a filter, that knows the process alone, cannot
// tell: how it is scheduled, its processors, and its time. The C library and runtimes ask these of their own threads.
bool IsOfOwnThread(const std::string& call, const seccomp_notif& notice) {
  constexpr std::string_view kOfThreads[] = {"sched_setaffinity", "sched_getaffinity",  "sched_getattr",
                                             "sched_getparam",    "sched_getscheduler", "sched_rr_get_interval"};
  constexpr std::string_view kOfClocks[] = {"clock_gettime", "clock_getres", "clock_nanosleep"};
  const auto& arguments = notice.data.args;
  if (std::find(std::begin(kOfThreads), std::end(kOfThreads), call) != std::end(kOfThreads))
    return IsThreadOf(notice.pid, arguments[0]);
  if (call == "getpriority") return static_cast<uint32_t>(arguments[0]) == 0 && IsThreadOf(notice.pid, arguments[1]);
  // The number of a thread's clock is negative, and has the thread above three other bits.
  const auto clock = static_cast<int32_t>(static_cast<uint32_t>(arguments[0]));
  return std::find(std::begin(kOfClocks), std::end(kOfClocks), call) != std::end(kOfClocks) && clock < 0 &&
         IsThreadOf(notice.pid, static_cast<uint32_t>(~(clock >> 3)));
}

}  // namespace

RefusedCalls::RefusedCalls(Descriptor socket) : socket_(std::move(socket)), stop_(eventfd(0, EFD_CLOEXEC)) {
  if (stop_.get() >= 0)
    if (Result<std::thread> started = StartThread([this] { Serve(); }); started.ok())
      thread_ = std::move(started).value();
  if (!thread_.joinable()) socket_.Replace(-1);  // which tells the worker
}

RefusedCalls::~RefusedCalls() {
  if (!thread_.joinable()) return;
  const uint64_t one = 1;
  while (write(stop_.get(), &one, sizeof one) < 0 && errno == EINTR) {
  }
  thread_.join();
}

void RefusedCalls::Serve() {
  try {
    const auto await = [this](int descriptor) {
      pollfd watched[] = {{descriptor, POLLIN, 0}, {stop_.get(), POLLIN, 0}};
      while (poll(watched, 2, -1) < 0 && errno == EINTR) {
      }
      return watched[1].revents == 0 && (watched[0].revents & POLLIN) != 0;
    };
    const bool taken = await(socket_.get()) && TakeListener();
    socket_.Replace(-1);
    using Clock = std::chrono::steady_clock;
    double free = kAtOnce;
    Clock::time_point filled = Clock::now();
    while (taken && free >= 1 && await(listener_.get()) && Answer()) {
      const Clock::time_point now = Clock::now();
      free = std::min(free - 1 + kPerSecond * std::chrono::duration<double>(now - filled).count(), kAtOnce);
      filled = now;
    }
  } catch (const std::bad_alloc&) {  // the rest is not counted
  }
  // Calls that wait for an answer, and all later ones, fail with ENOSYS.
  socket_.Replace(-1);
  listener_.Replace(-1);
}

bool RefusedCalls::TakeListener() {
  std::string table(kMostCallTable, '\0');
  union {
    cmsghdr align;
    std::array<char, CMSG_SPACE(sizeof(int))> bytes;
  } control{};
  iovec part{table.data(), table.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes.data();
  message.msg_controllen = control.bytes.size();
  const ssize_t got = recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  const cmsghdr* head = got <= 0 ? nullptr : CMSG_FIRSTHDR(&message);
  if (head == nullptr || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS ||
      head->cmsg_len != CMSG_LEN(sizeof(int)))
    return false;
  int listener = -1;
  std::memcpy(&listener, CMSG_DATA(head), sizeof listener);
  listener_.Replace(listener);
  return ReadTable(std::string_view(table).substr(0, static_cast<size_t>(got)));
}

bool RefusedCalls::ReadTable(std::string_view table) {
  while (!table.empty()) {
    const std::string_view line = table.substr(0, table.find('\n'));
    table.remove_prefix(std::min(line.size() + 1, table.size()));
    int number = 0, error = 0;
    const char* const end = line.data() + line.size();
    const auto first = std::from_chars(line.data(), end, number);
    if (first.ec != std::errc() || first.ptr == end) return false;
    const auto second = std::from_chars(first.ptr + 1, end, error);
    if (second.ec != std::errc() || second.ptr == end || error <= 0) return false;
    calls_[number] = {std::string(second.ptr + 1, end), error};
  }
  return true;
}

bool RefusedCalls::Answer() {
  // A newer kernel may fill more than the headers of this build know.
  seccomp_notif_sizes sizes{};
  if (syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) != 0) return false;
  std::vector<uint64_t> asked(std::max<size_t>(sizes.seccomp_notif, sizeof(seccomp_notif)) / sizeof(uint64_t) + 1);
  std::vector<uint64_t> answer(
      std::max<size_t>(sizes.seccomp_notif_resp, sizeof(seccomp_notif_resp)) / sizeof(uint64_t) + 1);
  if (ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_RECV, asked.data()) != 0)
    return errno == EINTR || errno == ENOENT;  // ENOENT: the thread has ended meanwhile
  seccomp_notif notice;
  std::memcpy(&notice, asked.data(), sizeof notice);
  seccomp_notif_resp response{};
  response.id = notice.id;
  response.error = -ENOSYS;
  const auto known = calls_.find(notice.data.nr);
  const bool has_name = known != calls_.end();
  if (has_name) response.error = -known->second.error;
  // The arguments are registers, which the waiting thread cannot change.
  if (has_name && IsOfOwnThread(known->second.name, notice)) {
    response.error = 0;
    response.flags = kContinue;
  } else {
    const std::lock_guard lock(mutex_);
    ++counts_[has_name ? known->second.name : fmt::format("system call {}", notice.data.nr)];
  }
  std::memcpy(answer.data(), &response, sizeof response);
  // Where it fails the thread has ended, or was interrupted and asks again.
  (void)ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_SEND, answer.data());
  return true;
}

std::vector<std::string> RefusedCalls::List() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> list;
  for (const auto& [name, count] : counts_) list.push_back(fmt::format("{} ({})", name, count));
  return list;
}

std::string RefusedText(const std::vector<std::string>& calls) {
  if (calls.empty()) return "";
  const auto named = calls.begin() + static_cast<ptrdiff_t>(std::min(calls.size(), kMostNamed));
  std::string text =
      fmt::format("; the sandbox has refused system calls of the plugin: {}", fmt::join(calls.begin(), named, ", "));
  if (named != calls.end()) text += fmt::format(" and {} others", calls.end() - named);
  return text;
}

}  // namespace deputy::host
