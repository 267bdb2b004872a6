#include "worker/sandbox.hpp"

#include <fmt/format.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/worker_process.hpp"
#include "isolation/sandbox_level.hpp"
#include "plugin/discovery/device_names.hpp"
#include "worker/file_rights.hpp"
#include "worker/refused_files.hpp"
#include "worker/system_call_filter.hpp"

namespace deputy::host {

namespace {

void Limit(__rlimit_resource resource, rlim_t most) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0 || limit.rlim_max <= most) return;
  limit = {std::min(limit.rlim_cur, most), most};
  setrlimit(resource, &limit);
}

// What the kernel holds for a process outside of its memory: each descriptor may be a pipe with 64 KiB, each signal
// that waits, and each timer, has some hundred bytes. A stack grows without being counted by RLIMIT_DATA.
void LimitWhatTheKernelHolds(bool devices) {
  constexpr rlim_t kMostFiles = 1024, kMostFilesWithDevices = 4096, kMostSignals = 4096, kMostStack = 64u << 20;
  Limit(RLIMIT_NOFILE, devices ? kMostFilesWithDevices : kMostFiles);
  Limit(RLIMIT_SIGPENDING, kMostSignals);
  Limit(RLIMIT_STACK, kMostStack);
  Limit(RLIMIT_CORE, 0);
  Limit(RLIMIT_MSGQUEUE, 0);
  Limit(RLIMIT_NICE, 0);
  Limit(RLIMIT_RTPRIO, 0);
  if (devices) return;
  Limit(RLIMIT_MEMLOCK, 0);
  Limit(RLIMIT_FSIZE, 0);  // of files in memory as well
}

// Where the system lacks memory, the kernel ends this process before the one that it serves.
void OfferFirst() {
  constexpr int kScore = 500;
  std::fstream file("/proc/self/oom_score_adj");
  if (int now = 0; file >> now && now < kScore) {
    file.seekp(0);
    file << kScore << std::flush;
  }
}

// Of this thread, and of all that it starts. Root without capabilities may do with files what their owner may.
std::string DropCapabilities() {
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);  // kernels before 4.3 have no such set
  constexpr unsigned kEnd = 64;
  for (unsigned capability = 0; capability < kEnd; ++capability)
    prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);  // takes a capability itself; a process without has nothing to drop
  __user_cap_header_struct head{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> none{};
  if (syscall(SYS_capset, &head, none.data()) == 0) return "";
  return fmt::format("cannot give up capabilities: {}", strerror(errno));
}

std::string GiveUpRights(const std::filesystem::path& plugin, const std::vector<std::string>& names) {
  // Without it an unprivileged process may not restrict itself, and a set-user-ID program would undo it.
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return fmt::format("cannot give up privileges: {}", strerror(errno));
  const std::vector<std::string> devices = AcceleratorsHere(names);
  const bool has_devices = !devices.empty();
  LimitWhatTheKernelHolds(has_devices);
  OfferFirst();
  const SandboxLevel level = AvailableSandbox();
  if (level.landlock > 0)
    if (std::string error = RestrictFiles(level.landlock, plugin, devices); !error.empty()) return error;
  if (std::string error = DropCapabilities(); !error.empty()) return error;
  // No process of the user may trace it, and its environment in /proc is root's.
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return fmt::format("cannot be protected: {}", strerror(errno));
  SystemCallRights rights;
  rights.devices = has_devices;
  rights.commands = CommandsOf(devices);
  rights.files_are_limited = level.landlock > 0;
  rights.report = kWorkerSandboxFd;
  rlimit data{};
  rights.memory_limit = getrlimit(RLIMIT_DATA, &data) == 0 && data.rlim_max != RLIM_INFINITY;
  if (level.seccomp) return RestrictSystemCalls(rights);
  close(kWorkerSandboxFd);
  return "";
}

}  // namespace

std::optional<Rejection> EnterSandbox(const std::filesystem::path& plugin, const std::vector<std::string>& devices) {
  const std::string error = GiveUpRights(plugin, devices);
  if (error.empty()) {
    NoteRefusedFiles();
    return std::nullopt;
  }
  return Rejection{RejectReason::kLoadFailed, "cannot be loaded in a sandbox: " + error};
}

}  // namespace deputy::host
