#include "worker/file_rights.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string_view>

#include "base/file.hpp"
#include "base/worker_environment.hpp"

namespace deputy::host {
namespace {

namespace fs = std::filesystem;

// Of include/uapi/linux/landlock.h in Linux 6.12, for headers that are older.
constexpr uint64_t kTruncate = 1ULL << 14;          // since version 3
constexpr uint64_t kDeviceControl = 1ULL << 15;     // since version 5
constexpr uint64_t kTcp = 3;                        // to bind and to connect, since version 4
constexpr uint64_t kSignalsAndAbstractSockets = 3;  // since version 6
struct RulesetAttributes {
  uint64_t files, network, scoped;
};

constexpr uint64_t kRead = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr uint64_t kOfFiles = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncate | kDeviceControl;

uint64_t FileRights(int version) {
  uint64_t rights = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;
  if (version >= 2) rights |= LANDLOCK_ACCESS_FS_REFER;
  if (version >= 3) rights |= kTruncate;
  if (version >= 5) rights |= kDeviceControl;
  return rights;
}

class Ruleset {
 public:
  explicit Ruleset(int version) : handled_(FileRights(version)) {
    RulesetAttributes attributes{handled_, version >= 4 ? kTcp : 0, version >= 6 ? kSignalsAndAbstractSockets : 0};
    const size_t size = version >= 6 ? sizeof attributes : version >= 4 ? 16 : 8;  // as each version knows it
    fd_.Replace(static_cast<int>(syscall(SYS_landlock_create_ruleset, &attributes, size, 0)));
  }

  bool made() const { return fd_.get() >= 0; }

  // What is absent, or cannot be opened, needs no right. `keep`: the rule is for a file that the kernel makes anew,
  // without the rule, once it has forgotten it, which it does not while the file is open.
  void Allow(const fs::path& path, uint64_t rights, bool keep = false) {
    Descriptor target(open(path.c_str(), O_PATH | O_CLOEXEC));
    struct stat about {};
    if (target.get() < 0 || fstat(target.get(), &about) != 0) return;
    if (!S_ISDIR(about.st_mode)) rights &= kOfFiles;
    const landlock_path_beneath_attr rule{rights & handled_, target.get()};
    syscall(SYS_landlock_add_rule, fd_.get(), LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    if (keep) target.Release();
  }

  bool Enforce() { return syscall(SYS_landlock_restrict_self, fd_.get(), 0) == 0; }

 private:
  const uint64_t handled_;
  Descriptor fd_{-1};
};

void AllowLibraries(Ruleset& rules) {
  const char* searched = std::getenv("LD_LIBRARY_PATH");
  std::istringstream folders(searched == nullptr ? "" : searched);
  for (std::string folder; std::getline(folders, folder, ':');)
    if (!folder.empty() && folder != "/") rules.Allow(folder, kRead);
}

// Those of the configuration.
void AllowReadable(Ruleset& rules) {
  const char* named = std::getenv(std::string(kReadableVariable).c_str());
  std::istringstream folders(named == nullptr ? "" : named);
  for (std::string folder; std::getline(folders, folder);)
    if (!folder.empty()) rules.Allow(folder, kRead);
}

void AllowDevices(Ruleset& rules, const std::vector<std::string>& devices) {
  for (const std::string& device : devices)
    rules.Allow("/dev/" + device, LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | kDeviceControl);
  for (const char* path : {"/sys", "/proc/driver", "/proc/devices", "/etc/OpenCL", "/etc/vulkan"})
    rules.Allow(path, kRead);
  // Drivers list what is there; no right to open it.
  for (const char* path : {"/dev/dri", "/dev/accel"}) rules.Allow(path, LANDLOCK_ACCESS_FS_READ_DIR);
}

}  // namespace

std::string RestrictFiles(int version, const fs::path& plugin, const std::vector<std::string>& devices) {
  Ruleset rules(version);
  if (!rules.made()) return fmt::format("cannot restrict files: {}", strerror(errno));
  for (const char* path : {"/usr", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/etc/ld.so.cache", "/etc/localtime",
                           "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/version",
                           "/proc/sys/vm/overcommit_memory", "/sys/devices/system", "/sys/fs/cgroup"})
    rules.Allow(path, kRead);
  // Of the process itself, what the C library, allocators and runtimes read; not its environment, nor the mounts and
  // the connections of the system, which are there too.
  for (const char* file : {"auxv", "cgroup", "cmdline", "limits", "maps", "stat", "statm", "status"})
    rules.Allow(fmt::format("/proc/self/{}", file), LANDLOCK_ACCESS_FS_READ_FILE, true);
  rules.Allow("/proc/self/fd", LANDLOCK_ACCESS_FS_READ_DIR, true);
  for (const char* path : {"/dev/null", "/dev/full"})
    rules.Allow(path, LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE);
  // A file of zeros that is open for writing is shared memory without a limit.
  for (const char* path : {"/dev/zero", "/dev/random", "/dev/urandom"}) rules.Allow(path, LANDLOCK_ACCESS_FS_READ_FILE);
  rules.Allow(plugin.parent_path(), kRead);
  AllowLibraries(rules);
  AllowReadable(rules);
  if (!devices.empty()) AllowDevices(rules, devices);
  return rules.Enforce() ? "" : fmt::format("cannot restrict files: {}", strerror(errno));
}

}  // namespace deputy::host
