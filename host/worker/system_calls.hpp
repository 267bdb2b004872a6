// The system calls that a plugin in a sandbox may make: those that computing needs, of the GNU C library and of common
// runtimes. Calls that are allowed for some arguments only are in system_call_filter.cpp.
#pragma once

#include <seccomp.h>

namespace deputy::host {

inline constexpr int kAllowedCalls[] = {
    // Memory of the process itself.
    SCMP_SYS(brk), SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(mprotect), SCMP_SYS(madvise), SCMP_SYS(mincore),
    SCMP_SYS(msync), SCMP_SYS(membarrier), SCMP_SYS(get_mempolicy), SCMP_SYS(set_mempolicy), SCMP_SYS(mbind),
    // Threads.
    SCMP_SYS(futex), SCMP_SYS(futex_waitv), SCMP_SYS(set_robust_list), SCMP_SYS(set_tid_address), SCMP_SYS(rseq),
    SCMP_SYS(gettid), SCMP_SYS(getcpu), SCMP_SYS(sched_yield), SCMP_SYS(arch_prctl), SCMP_SYS(exit),
    SCMP_SYS(exit_group), SCMP_SYS(restart_syscall), SCMP_SYS(wait4), SCMP_SYS(waitid),
    // How threads can be scheduled.
    SCMP_SYS(sched_get_priority_max), SCMP_SYS(sched_get_priority_min),
    // Signals within the process.
    SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn), SCMP_SYS(rt_sigpending),
    SCMP_SYS(rt_sigsuspend), SCMP_SYS(rt_sigtimedwait), SCMP_SYS(sigaltstack), SCMP_SYS(signalfd), SCMP_SYS(signalfd4),
    SCMP_SYS(pause),
    // Time.
    SCMP_SYS(nanosleep), SCMP_SYS(gettimeofday), SCMP_SYS(time), SCMP_SYS(times), SCMP_SYS(alarm), SCMP_SYS(getitimer),
    SCMP_SYS(setitimer), SCMP_SYS(timer_settime), SCMP_SYS(timer_gettime), SCMP_SYS(timer_getoverrun),
    SCMP_SYS(timer_delete), SCMP_SYS(timerfd_create), SCMP_SYS(timerfd_settime), SCMP_SYS(timerfd_gettime),
    // To wait.
    SCMP_SYS(poll), SCMP_SYS(ppoll), SCMP_SYS(select), SCMP_SYS(pselect6), SCMP_SYS(epoll_create),
    SCMP_SYS(epoll_create1), SCMP_SYS(epoll_ctl), SCMP_SYS(epoll_wait), SCMP_SYS(epoll_pwait), SCMP_SYS(epoll_pwait2),
    SCMP_SYS(eventfd), SCMP_SYS(eventfd2), SCMP_SYS(pipe), SCMP_SYS(pipe2),
    // Files, to be read; which of them is for Landlock.
    SCMP_SYS(read), SCMP_SYS(readv), SCMP_SYS(pread64), SCMP_SYS(preadv), SCMP_SYS(preadv2), SCMP_SYS(lseek),
    SCMP_SYS(_llseek), SCMP_SYS(close), SCMP_SYS(close_range), SCMP_SYS(dup), SCMP_SYS(dup2), SCMP_SYS(dup3),
    SCMP_SYS(stat), SCMP_SYS(lstat), SCMP_SYS(fstat), SCMP_SYS(fstatat64), SCMP_SYS(newfstatat), SCMP_SYS(statx),
    SCMP_SYS(statfs), SCMP_SYS(fstatfs), SCMP_SYS(access), SCMP_SYS(faccessat), SCMP_SYS(faccessat2),
    SCMP_SYS(readlink), SCMP_SYS(readlinkat), SCMP_SYS(getdents), SCMP_SYS(getdents64), SCMP_SYS(getcwd),
    SCMP_SYS(chdir), SCMP_SYS(fchdir), SCMP_SYS(fadvise64), SCMP_SYS(readahead),
    // To the descriptors that the process has: its output, and the sockets to the host.
    SCMP_SYS(write), SCMP_SYS(writev), SCMP_SYS(pwrite64), SCMP_SYS(pwritev), SCMP_SYS(pwritev2), SCMP_SYS(recvfrom),
    SCMP_SYS(recvmsg), SCMP_SYS(sendmsg),
    // What the process is, and the system.
    SCMP_SYS(getpid), SCMP_SYS(getppid), SCMP_SYS(getuid), SCMP_SYS(geteuid), SCMP_SYS(getgid), SCMP_SYS(getegid),
    SCMP_SYS(getresuid), SCMP_SYS(getresgid), SCMP_SYS(getgroups), SCMP_SYS(getpgrp), SCMP_SYS(umask), SCMP_SYS(uname),
    SCMP_SYS(sysinfo), SCMP_SYS(getrandom), SCMP_SYS(getrusage), SCMP_SYS(getrlimit)};

// With devices, also memory that their drivers read without help of the processor.
inline constexpr int kAllowedWithDevices[] = {SCMP_SYS(mlock), SCMP_SYS(mlock2), SCMP_SYS(munlock), SCMP_SYS(mlockall),
                                              SCMP_SYS(munlockall)};

// With devices and without a limit of memory: files in memory, which libraries of drivers use for buffers.
inline constexpr int kFilesInMemory[] = {SCMP_SYS(memfd_create), SCMP_SYS(ftruncate), SCMP_SYS(fallocate)};

// Refused with ENOSYS, as on a kernel without them, so that the C library uses an older one.
inline constexpr int kAsIfUnknown[] = {SCMP_SYS(clone3), SCMP_SYS(openat2)};

}  // namespace deputy::host
