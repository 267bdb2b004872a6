#include "worker/sandbox.hpp"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "isolation/sandbox_level.hpp"
#include "worker/file_rights.hpp"
#include "worker/system_call_filter.hpp"

namespace deputy::host {

namespace {

std::string GiveUpRights(const std::filesystem::path& plugin, const std::vector<std::string>& devices) {
  // Without it an unprivileged process may not restrict itself, and a set-user-ID program would undo it.
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return fmt::format("cannot give up privileges: {}", strerror(errno));
  constexpr rlim_t kMostFiles = 4096;
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_max > kMostFiles) {
    files = {std::min(files.rlim_cur, kMostFiles), kMostFiles};
    setrlimit(RLIMIT_NOFILE, &files);
  }
  const SandboxLevel level = AvailableSandbox();
  if (level.landlock > 0)
    if (std::string error = RestrictFiles(level.landlock, plugin, devices); !error.empty()) return error;
  return level.seccomp ? RestrictSystemCalls() : "";
}

}  // namespace

std::optional<Rejection> EnterSandbox(const std::filesystem::path& plugin, const std::vector<std::string>& devices) {
  const std::string error = GiveUpRights(plugin, devices);
  if (error.empty()) return std::nullopt;
  return Rejection{RejectReason::kLoadFailed, "cannot be loaded in a sandbox: " + error};
}

}  // namespace deputy::host
