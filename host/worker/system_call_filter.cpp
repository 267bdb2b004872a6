#include "worker/system_call_filter.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/prctl.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>

namespace deputy::host {
namespace {

// Calls that computing does not need.
constexpr int kTaken[] = {
    // Other programs and processes. Threads are made by clone(), below.
    SCMP_SYS(execve), SCMP_SYS(execveat), SCMP_SYS(fork), SCMP_SYS(vfork), SCMP_SYS(ptrace), SCMP_SYS(process_vm_readv),
    SCMP_SYS(process_vm_writev), SCMP_SYS(process_madvise), SCMP_SYS(process_mrelease), SCMP_SYS(pidfd_open),
    SCMP_SYS(pidfd_getfd), SCMP_SYS(pidfd_send_signal), SCMP_SYS(kcmp), SCMP_SYS(tkill), SCMP_SYS(migrate_pages),
    SCMP_SYS(ioprio_set), SCMP_SYS(setsid), SCMP_SYS(setpgid),
    // Connections, and memory and queues with names.
    SCMP_SYS(socket), SCMP_SYS(socketpair), SCMP_SYS(connect), SCMP_SYS(bind), SCMP_SYS(listen), SCMP_SYS(accept),
    SCMP_SYS(accept4), SCMP_SYS(shmget), SCMP_SYS(shmat), SCMP_SYS(shmctl), SCMP_SYS(semget), SCMP_SYS(semop),
    SCMP_SYS(semtimedop), SCMP_SYS(semctl), SCMP_SYS(msgget), SCMP_SYS(msgsnd), SCMP_SYS(msgrcv), SCMP_SYS(msgctl),
    SCMP_SYS(mq_open), SCMP_SYS(mq_unlink), SCMP_SYS(mq_notify),
    // Properties of files, which Landlock does not cover.
    SCMP_SYS(chmod), SCMP_SYS(fchmod), SCMP_SYS(fchmodat), SCMP_SYS(chown), SCMP_SYS(fchown), SCMP_SYS(lchown),
    SCMP_SYS(fchownat), SCMP_SYS(utime), SCMP_SYS(utimes), SCMP_SYS(utimensat), SCMP_SYS(futimesat), SCMP_SYS(setxattr),
    SCMP_SYS(lsetxattr), SCMP_SYS(fsetxattr), SCMP_SYS(removexattr), SCMP_SYS(lremovexattr), SCMP_SYS(fremovexattr),
    SCMP_SYS(truncate), SCMP_SYS(flock), SCMP_SYS(name_to_handle_at), SCMP_SYS(open_by_handle_at),
    SCMP_SYS(fanotify_init), SCMP_SYS(fanotify_mark),
    // Wide interfaces of the kernel, with many faults in their past.
    SCMP_SYS(io_uring_setup), SCMP_SYS(io_uring_enter), SCMP_SYS(io_uring_register), SCMP_SYS(bpf),
    SCMP_SYS(perf_event_open), SCMP_SYS(userfaultfd), SCMP_SYS(keyctl), SCMP_SYS(add_key), SCMP_SYS(request_key),
    SCMP_SYS(personality), SCMP_SYS(modify_ldt), SCMP_SYS(vmsplice),
    // The system.
    SCMP_SYS(mount), SCMP_SYS(umount2), SCMP_SYS(move_mount), SCMP_SYS(open_tree), SCMP_SYS(fsopen), SCMP_SYS(fsmount),
    SCMP_SYS(fsconfig), SCMP_SYS(fspick), SCMP_SYS(mount_setattr), SCMP_SYS(pivot_root), SCMP_SYS(chroot),
    SCMP_SYS(unshare), SCMP_SYS(setns), SCMP_SYS(init_module), SCMP_SYS(finit_module), SCMP_SYS(delete_module),
    SCMP_SYS(kexec_load), SCMP_SYS(kexec_file_load), SCMP_SYS(reboot), SCMP_SYS(swapon), SCMP_SYS(swapoff),
    SCMP_SYS(acct), SCMP_SYS(quotactl), SCMP_SYS(quotactl_fd), SCMP_SYS(syslog), SCMP_SYS(vhangup),
    SCMP_SYS(settimeofday), SCMP_SYS(clock_settime), SCMP_SYS(adjtimex), SCMP_SYS(clock_adjtime), SCMP_SYS(sethostname),
    SCMP_SYS(setdomainname), SCMP_SYS(iopl), SCMP_SYS(ioperm)};

// Numbers of calls that are newer than this list, the same on all architectures.
constexpr int kFirstNewCall = 450, kEndOfNewCalls = 520;

class Filter {
 public:
  explicit Filter(scmp_filter_ctx context) : context_(context) {}

  template <class... Conditions>
  void Fail(int call, int error, Conditions... conditions) {
    const int status = seccomp_rule_add(context_, SCMP_ACT_ERRNO(error), call, sizeof...(conditions), conditions...);
    // -EDOM: this architecture has no such call.
    if (status != 0 && status != -EDOM && first_error_ == 0) first_error_ = status;
  }
  template <class... Conditions>
  void Take(int call, Conditions... conditions) {
    Fail(call, EPERM, conditions...);
  }

  int Load() { return first_error_ != 0 ? first_error_ : seccomp_load(context_); }

 private:
  scmp_filter_ctx context_;
  int first_error_ = 0;
};

constexpr uint64_t kLow = 0xffffffffu;  // arguments that are ints: the upper half of the register is not theirs

// The library's macros for it are no C++.
scmp_arg_cmp Argument(unsigned index, scmp_compare compare, scmp_datum_t first, scmp_datum_t second = 0) {
  return {index, compare, first, second};
}

// Calls that are needed for this process, and taken for others.
void KeepToThisProcess(Filter& filter) {
  const auto own = static_cast<scmp_datum_t>(getpid());
  for (const int call : {SCMP_SYS(kill), SCMP_SYS(tgkill), SCMP_SYS(rt_sigqueueinfo), SCMP_SYS(rt_tgsigqueueinfo)})
    filter.Take(call, Argument(0, SCMP_CMP_NE, own));
  for (const int call : {SCMP_SYS(prlimit64), SCMP_SYS(sched_setaffinity), SCMP_SYS(sched_setscheduler),
                         SCMP_SYS(sched_setparam), SCMP_SYS(sched_setattr), SCMP_SYS(move_pages)})
    filter.Take(call, Argument(0, SCMP_CMP_NE, 0));
  filter.Take(SCMP_SYS(setpriority), Argument(1, SCMP_CMP_NE, 0));
  filter.Take(SCMP_SYS(setpriority), Argument(0, SCMP_CMP_NE, 0));
  // Threads share their memory, signals and identity with this process; all else is another one. clone3 has its flags
  // in memory, which a filter cannot read.
  filter.Take(SCMP_SYS(clone), Argument(0, SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0));
  filter.Fail(SCMP_SYS(clone3), ENOSYS);
  // The end of the host ends this process.
  for (const int option : {PR_SET_PDEATHSIG, PR_SET_PTRACER, PR_SET_MM, PR_SET_CHILD_SUBREAPER})
    filter.Take(SCMP_SYS(prctl), Argument(0, SCMP_CMP_MASKED_EQ, kLow, static_cast<scmp_datum_t>(option)));
  // Signals on input and output, to any process.
  constexpr int kSetSignal = 10, kSetOwnerEx = 15;  // F_SETSIG, F_SETOWN_EX
  for (const int command : {F_SETOWN, kSetSignal, kSetOwnerEx})
    filter.Take(SCMP_SYS(fcntl), Argument(1, SCMP_CMP_MASKED_EQ, kLow, static_cast<scmp_datum_t>(command)));
  constexpr int kSetOwner = 0x8901, kSetGroup = 0x8902;  // FIOSETOWN, SIOCSPGRP
  for (const unsigned command : {unsigned{kSetOwner}, unsigned{kSetGroup}, unsigned{TIOCSTI}, unsigned{TIOCSCTTY}})
    filter.Take(SCMP_SYS(ioctl), Argument(1, SCMP_CMP_MASKED_EQ, kLow, command));
}

}  // namespace

std::string RestrictSystemCalls() {
  const std::unique_ptr<void, void (*)(scmp_filter_ctx)> context(seccomp_init(SCMP_ACT_ALLOW), seccomp_release);
  if (context == nullptr) return "cannot restrict system calls: no memory";
  // A second architecture's numbers mean other calls: they end the process, which is the library's default.
  seccomp_attr_set(context.get(), SCMP_FLTATR_CTL_TSYNC, 1);  // for the threads of a sanitizer's runtime
  seccomp_attr_set(context.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2);
  Filter filter(context.get());
  for (const int call : kTaken) filter.Take(call);
  for (int call = kFirstNewCall; call < kEndOfNewCalls; ++call) filter.Fail(call, ENOSYS);
  KeepToThisProcess(filter);
  const int status = filter.Load();
  return status == 0 ? "" : fmt::format("cannot restrict system calls: {}", strerror(-status));
}

}  // namespace deputy::host
