#include "worker/system_call_filter.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/filter.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>
#include <vector>

#include "base/file.hpp"
#include "base/refused_calls.hpp"
#include "plugin/discovery/device_names.hpp"
#include "worker/system_calls.hpp"

namespace deputy::host {
namespace {

// Numbers of calls end below it for a long time.
constexpr int kEndOfCalls = 600;

constexpr uint64_t kLow = 0xffffffffu;  // arguments that are ints: the upper half of the register is not theirs

// The library's macros for it are no C++.
scmp_arg_cmp Argument(unsigned index, scmp_compare compare, scmp_datum_t first, scmp_datum_t second = 0) {
  return {index, compare, first, second};
}
// An argument that is an int.
scmp_arg_cmp IsInt(unsigned index, uint64_t value) { return Argument(index, SCMP_CMP_MASKED_EQ, kLow, value & kLow); }
// None of these bits.
scmp_arg_cmp Lacks(unsigned index, uint64_t bits) { return Argument(index, SCMP_CMP_MASKED_EQ, bits, 0); }

int ErrorOf(int call) {
  if (std::find(std::begin(kAsIfUnknown), std::end(kAsIfUnknown), call) != std::end(kAsIfUnknown)) return ENOSYS;
  // As from a file system that refuses: a file that is to be written.
  return call == SCMP_SYS(open) || call == SCMP_SYS(openat) ? EACCES : EPERM;
}

class Filter {
 public:
  // `refused`: the action for what no rule allows.
  explicit Filter(uint32_t refused) : context_(seccomp_init(refused), seccomp_release) {
    if (context_ == nullptr) first_error_ = -ENOMEM;
    Note(first_error_ != 0 ? 0 : seccomp_attr_set(context_.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS));
    Note(first_error_ != 0 ? 0 : seccomp_attr_set(context_.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2));
  }

  template <class... Conditions>
  void Allow(int call, Conditions... conditions) {
    Add(SCMP_ACT_ALLOW, call, conditions...);
  }
  void Fail(int call, int error) { Add(SCMP_ACT_ERRNO(static_cast<uint32_t>(error)), call); }

  // The program for the kernel. An error number, or 0.
  int Export(std::vector<sock_filter>& program) {
    if (first_error_ != 0) return -first_error_;
    // Not through a file or a pipe, whose sizes are limited: the longest program fits into a socket.
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) return errno;
    const Descriptor from(ends[0]);
    Descriptor to(ends[1]);
    if (const int status = seccomp_export_bpf(context_.get(), to.get()); status != 0) return -status;
    to.Replace(-1);
    program.resize(BPF_MAXINSNS);
    const size_t most = program.size() * sizeof(sock_filter);
    size_t done = 0;
    for (ssize_t got = 1; got > 0 && done < most; done += static_cast<size_t>(std::max<ssize_t>(got, 0)))
      got = read(from.get(), reinterpret_cast<char*>(program.data()) + done, most - done);
    program.resize(done / sizeof(sock_filter));
    return program.empty() || done % sizeof(sock_filter) != 0 ? EIO : 0;
  }

 private:
  template <class... Conditions>
  void Add(uint32_t action, int call, Conditions... conditions) {
    if (first_error_ != 0) return;
    const int status = seccomp_rule_add(context_.get(), action, call, sizeof...(conditions), conditions...);
    if (status != -EDOM) Note(status);  // this architecture has no such call
  }
  void Note(int status) {
    if (status != 0 && first_error_ == 0) first_error_ = status;
  }

  std::unique_ptr<void, void (*)(scmp_filter_ctx)> context_;
  int first_error_ = 0;
};

void AllowMemory(Filter& filter, const SystemCallRights& rights) {
  // RLIMIT_DATA counts neither a mapping that grows down, as a stack, nor shared memory.
  const bool shared = rights.devices && !rights.memory_limit;
  if (shared) {
    filter.Allow(SCMP_SYS(mmap), Lacks(3, MAP_GROWSDOWN));
    for (const int call : kFilesInMemory) filter.Allow(call);
  } else {
    filter.Allow(SCMP_SYS(mmap), Lacks(3, MAP_GROWSDOWN | MAP_ANONYMOUS));
    filter.Allow(SCMP_SYS(mmap), Lacks(3, MAP_GROWSDOWN | MAP_SHARED));  // MAP_SHARED_VALIDATE has that bit too
  }
}

void AllowFiles(Filter& filter, const SystemCallRights& rights) {
  constexpr uint64_t kMakes = O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY);
  const uint64_t refused = rights.files_are_limited ? 0 : rights.devices ? kMakes : kMakes | O_WRONLY | O_RDWR;
  if (refused == 0) {
    filter.Allow(SCMP_SYS(open));
    filter.Allow(SCMP_SYS(openat));
  } else {
    filter.Allow(SCMP_SYS(open), Lacks(1, refused));
    filter.Allow(SCMP_SYS(openat), Lacks(2, refused));
  }
  // Neither locks, whose number has no limit, nor larger pipes, nor signals on input.
  constexpr int kGetPipeSize = 1032, kGetSeals = 1034;
  for (const int command : {F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_SETFL, kGetPipeSize, kGetSeals})
    filter.Allow(SCMP_SYS(fcntl), IsInt(1, static_cast<uint64_t>(command)));
  filter.Allow(SCMP_SYS(sendto), Argument(4, SCMP_CMP_EQ, 0));  // without an address
}

// The commands of CommandsOf() with this byte.
void AllowCommands(Filter& filter, unsigned char letter) {
  constexpr uint64_t kLetter = 0xff00, kNumber = 0xff;
  const uint64_t named = static_cast<uint64_t>(letter) << 8;
  const auto allow = [&](uint64_t mask, uint64_t bits) {
    filter.Allow(SCMP_SYS(ioctl), Argument(1, SCMP_CMP_MASKED_EQ, kLetter | mask, named | bits));
  };
  switch (letter) {
    case kPlainCommands: {
      constexpr uint64_t kInitialize = 0x30000001, kDeinitialize = 0x30000002;
      for (const uint64_t command : {uint64_t{3}, kInitialize, kDeinitialize})
        filter.Allow(SCMP_SYS(ioctl), IsInt(1, command));
      for (uint64_t first = 4; first <= kNumber; first *= 2) allow(kLow & ~kLetter & ~(first - 1), first);
      return;
    }
    case kHailoTransfers:
      // The size of the argument is in 14 bits; an int or a long has one of two of them.
      for (unsigned bit = 0; bit < 14; ++bit)
        if (1u << bit != sizeof(int) && 1u << bit != sizeof(long)) allow(1u << (16 + bit), 1u << (16 + bit));
      return;
    case kRockchipCommands: return allow(0xf0, 0);
    default: allow(0, 0);
  }
}

void AllowDeviceControl(Filter& filter, const SystemCallRights& rights) {
  constexpr uint64_t kGetAttributes = 0x5401, kGetWindow = 0x5413;  // TCGETS, TIOCGWINSZ
  constexpr uint64_t kOfDescriptors[] = {kGetAttributes, kGetWindow, FIONREAD, FIONBIO, FIOCLEX, FIONCLEX};
  for (const uint64_t command : kOfDescriptors) filter.Allow(SCMP_SYS(ioctl), IsInt(1, command));
  // Descriptors of files take commands too, so this is a list: file systems have letters of their own.
  for (const char letter : rights.commands) AllowCommands(filter, static_cast<unsigned char>(letter));
}

// To this process, but for the two that no handler sees: they look as if another process had sent them.
void AllowSignals(Filter& filter) {
  static_assert(SIGKILL == 9 && SIGSTOP == 19);
  constexpr struct {
    uint64_t first, count;  // a power of two, of which the first is a multiple
  } kSignals[] = {{0, 8}, {8, 1}, {10, 2}, {12, 4}, {16, 2}, {18, 1}, {20, 4}, {24, 8}, {32, 32}, {64, 1}};
  constexpr struct {
    int call;
    unsigned signal;  // the argument
  } kCalls[] = {
      {SCMP_SYS(kill), 1}, {SCMP_SYS(tgkill), 2}, {SCMP_SYS(rt_sigqueueinfo), 1}, {SCMP_SYS(rt_tgsigqueueinfo), 2}};
  const auto own = static_cast<uint64_t>(getpid());
  for (const auto& [call, signal] : kCalls)
    for (const auto& [first, count] : kSignals)
      filter.Allow(call, IsInt(0, own), Argument(signal, SCMP_CMP_MASKED_EQ, kLow & ~(count - 1), first));
}

// Those of the system, and the times of this process. A negative number names a process or a thread, above three bits
// that say which of its times.
void AllowClocks(Filter& filter) {
  constexpr uint64_t kNegative = 0x80000000u, kProcess = kLow & ~uint64_t{7};
  const uint64_t own = ~static_cast<uint64_t>(getpid()) << 3 & kProcess, zero = kProcess;
  const auto allow = [&](int call, auto... more) {
    filter.Allow(call, Lacks(0, kNegative), more...);
    for (const uint64_t process : {own, zero})
      filter.Allow(call, Argument(0, SCMP_CMP_MASKED_EQ, kProcess, process), more...);
  };
  for (const int call : {SCMP_SYS(clock_gettime), SCMP_SYS(clock_getres), SCMP_SYS(clock_nanosleep)}) allow(call);
  // With the signal of alarms alone: any other is in memory, where a filter cannot see that it is SIGKILL.
  allow(SCMP_SYS(timer_create), Argument(1, SCMP_CMP_EQ, 0));
}

// How this process is scheduled, and its session. The host lets calls about single threads pass (RefusedCalls); without
// it the C library's own must pass for any number.
void AllowReadingOwnProcess(Filter& filter, bool listens) {
  for (const uint64_t process : {uint64_t{0}, static_cast<uint64_t>(getpid())}) {
    for (const int call :
         {SCMP_SYS(getpgid), SCMP_SYS(getsid), SCMP_SYS(sched_getattr), SCMP_SYS(sched_rr_get_interval)})
      filter.Allow(call, IsInt(0, process));
    filter.Allow(SCMP_SYS(getpriority), IsInt(0, PRIO_PROCESS), IsInt(1, process));
  }
  for (const int call : {SCMP_SYS(sched_getaffinity), SCMP_SYS(sched_getscheduler), SCMP_SYS(sched_getparam)}) {
    if (!listens) {
      filter.Allow(call);
      continue;
    }
    for (const uint64_t process : {uint64_t{0}, static_cast<uint64_t>(getpid())}) filter.Allow(call, IsInt(0, process));
  }
}

// What is needed for this process, and refused for others.
void AllowOwnProcess(Filter& filter, const SystemCallRights& rights) {
  const auto own = static_cast<uint64_t>(getpid());
  for (const int call : {SCMP_SYS(sched_setaffinity), SCMP_SYS(move_pages)}) filter.Allow(call, IsInt(0, 0));
  if (rights.devices) filter.Allow(SCMP_SYS(kcmp), IsInt(0, own), IsInt(1, own));
  for (const uint64_t process : {uint64_t{0}, own})  // limits are read, not set
    filter.Allow(SCMP_SYS(prlimit64), IsInt(0, process), Argument(2, SCMP_CMP_EQ, 0));
  // Threads share their memory, signals and identity with this process; all else is another one. clone3 has its flags
  // in memory, which a filter cannot read.
  constexpr uint64_t kNamespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |
                                   CLONE_NEWPID | CLONE_NEWNET | CLONE_VFORK;
  filter.Allow(SCMP_SYS(clone), Argument(0, SCMP_CMP_MASKED_EQ, CLONE_THREAD | kNamespaces, CLONE_THREAD));
  constexpr uint64_t kGetPersonality = 0xffffffffu;
  filter.Allow(SCMP_SYS(personality), IsInt(0, kGetPersonality));
  // Of Linux 6.1 and later, for headers that are older.
  constexpr int kSetName = 0x53564d41, kSmeSet = 63, kSmeGet = 64, kThpGet = 42, kThpSet = 41;
  for (const int option : {PR_SET_NAME,
                           PR_GET_NAME,
                           PR_GET_DUMPABLE,
                           PR_GET_PDEATHSIG,
                           PR_GET_KEEPCAPS,
                           PR_GET_NO_NEW_PRIVS,
                           PR_SET_NO_NEW_PRIVS,
                           PR_GET_SECCOMP,
                           PR_CAPBSET_READ,
                           PR_GET_TIMERSLACK,
                           PR_SET_TIMERSLACK,
                           PR_GET_TSC,
                           PR_GET_SPECULATION_CTRL,
                           PR_SVE_SET_VL,
                           PR_SVE_GET_VL,
                           PR_SET_TAGGED_ADDR_CTRL,
                           PR_GET_TAGGED_ADDR_CTRL,
                           PR_PAC_RESET_KEYS,
                           kSetName,
                           kSmeSet,
                           kSmeGet,
                           kThpGet,
                           kThpSet})
    filter.Allow(SCMP_SYS(prctl), IsInt(0, static_cast<uint64_t>(option)));
}

// `listens`: refused calls are for the host to answer; else the kernel answers.
int MakeProgram(const SystemCallRights& rights, bool listens, std::vector<sock_filter>& program) {
  Filter filter(listens ? SCMP_ACT_NOTIFY : SCMP_ACT_ERRNO(EPERM));
  for (const int call : kAllowedCalls) filter.Allow(call);
  if (rights.devices)
    for (const int call : kAllowedWithDevices) filter.Allow(call);
  AllowMemory(filter, rights);
  AllowFiles(filter, rights);
  AllowDeviceControl(filter, rights);
  AllowSignals(filter);
  AllowClocks(filter);
  AllowReadingOwnProcess(filter, listens);
  AllowOwnProcess(filter, rights);
  // The C library's own try for each thread, of which no plugin needs to hear.
  filter.Fail(SCMP_SYS(clone3), ENOSYS);
  if (!listens) {
    filter.Fail(SCMP_SYS(openat2), ENOSYS);
    for (int call = 0; call < kEndOfCalls; ++call) {
      const std::unique_ptr<char, void (*)(void*)> name(seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, call),
                                                        std::free);
      if (name == nullptr) filter.Fail(call, ENOSYS);
    }
  }
  return filter.Export(program);
}

// The listener of the filter, 0 without one, or a negative error number.
int Load(std::vector<sock_filter>& program, bool listens) {
  const sock_fprog all{static_cast<unsigned short>(program.size()), program.data()};
  // For the threads of a sanitizer's runtime too.
  constexpr unsigned long kAllThreads = SECCOMP_FILTER_FLAG_TSYNC;
  constexpr unsigned long kListener = SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_TSYNC_ESRCH;
  const long result =
      syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, listens ? kAllThreads | kListener : kAllThreads, &all);
  if (result < 0) return -errno;
  // Without a listener: the number of a thread that could not be restricted.
  return listens || result == 0 ? static_cast<int>(result) : -ESRCH;
}

std::string CallTable() {
  std::string table;
  for (int call = 0; call < kEndOfCalls; ++call) {
    const std::unique_ptr<char, void (*)(void*)> name(seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, call),
                                                      std::free);
    if (name != nullptr) table += fmt::format("{} {} {}\n", call, ErrorOf(call), name.get());
  }
  return table;
}

// Where it fails the host has no thread for it, and refused calls fail with ENOSYS as soon as `listener` is closed.
void Send(int socket, int listener, std::string& table) {
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
  cmsghdr* rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(rights), &listener, sizeof listener);
  while (sendmsg(socket, &message, MSG_NOSIGNAL) < 0 && errno == EINTR) {
  }
}

}  // namespace

std::string RestrictSystemCalls(const SystemCallRights& rights) {
  const Descriptor report(rights.report);
  std::string table = CallTable();
  // A kernel or a container without listeners: nothing is counted.
  for (const bool listens : {true, false}) {
    if (listens && report.get() < 0) continue;
    std::vector<sock_filter> program;
    if (const int error = MakeProgram(rights, listens, program); error != 0)
      return fmt::format("cannot restrict system calls: {}", strerror(error));
    const int listener = Load(program, listens);
    if (listener >= 0 && listens) {
      const Descriptor ours(listener);
      Send(report.get(), listener, table);
    }
    if (listener >= 0) return "";
    if (!listens) return fmt::format("cannot restrict system calls: {}", strerror(-listener));
  }
  return "";
}

}  // namespace deputy::host
