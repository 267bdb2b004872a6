#include "isolation/sandbox_level.hpp"

#include <fmt/format.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace deputy::host {

SandboxLevel AvailableSandbox() {
  SandboxLevel level;
  const long version = syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (version > 0) level.landlock = static_cast<int>(version);
  const unsigned action = SECCOMP_RET_ERRNO;
  level.seccomp = syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
  return level;
}

std::string ToText(const SandboxLevel& level) {
  std::string text;
  if (level.landlock > 0) text = fmt::format("Landlock {}", level.landlock);
  if (level.seccomp) text += text.empty() ? "seccomp" : ", seccomp";
  return text.empty() ? "none" : text;
}

}  // namespace deputy::host
