#include "base/trust.hpp"

#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/auxv.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

namespace deputy::host {
namespace {

// The result of a reentrant look-up, with the buffer that it points into.
template <class Entry>
struct Found {
  std::vector<char> buffer;
  Entry entry{};
  Entry* result = nullptr;
};

template <class Entry, class Id>
Found<Entry> LookUp(int (*function)(Id, Entry*, char*, size_t, Entry**), Id id) {
  constexpr size_t kLargest = size_t{1} << 20;
  Found<Entry> found;
  for (size_t size = 1024; size <= kLargest; size *= 4) {
    found.buffer.resize(size);
    if (function(id, &found.entry, found.buffer.data(), size, &found.result) != ERANGE) break;
  }
  return found;
}

// The private group of a user. Without any entry in the databases (as in containers) the numbers decide.
bool IsPrivateGroup(gid_t group, uid_t user) {
  const Found<passwd> owner = LookUp<passwd, uid_t>(getpwuid_r, user);
  const Found<::group> shared = LookUp<::group, gid_t>(getgrgid_r, group);
  if (shared.result == nullptr) return static_cast<uid_t>(group) == user;
  const char* name = owner.result == nullptr ? "" : owner.entry.pw_name;
  for (char** member = shared.entry.gr_mem; member != nullptr && *member != nullptr; ++member)
    if (std::strcmp(*member, name) != 0) return false;
  if (owner.result == nullptr) return static_cast<uid_t>(group) == user;
  return owner.entry.pw_gid == group && std::strcmp(shared.entry.gr_name, name) == 0;
}

constexpr const char* kAccessList = "system.posix_acl_access";

bool HasAccessList(int fd, const std::filesystem::path& path) {
  if (fd >= 0) return fgetxattr(fd, kAccessList, nullptr, 0) > 0;
  return !path.empty() && getxattr(path.c_str(), kAccessList, nullptr, 0) > 0;
}

// A caller with fewer rights than the program must not choose the files that it believes.
uid_t TrustedUser() {
  const uid_t user = geteuid();
  return getauxval(AT_SECURE) != 0 && user == getuid() ? 0 : user;
}

std::string Reason(const struct stat& about, int fd, const std::filesystem::path& path) {
  if (!IsTrustedOwner(about.st_uid)) return fmt::format("belongs to user {}", about.st_uid);
  const std::string writers = WritersOf(about, fd, path);
  if (writers.empty()) return {};
  return fmt::format("{} (mode {:04o}); chmod go-w", writers, static_cast<unsigned>(about.st_mode & 07777));
}

}  // namespace

bool IsTrustedOwner(uid_t owner) {
  static const uid_t of_everything = [] {
    struct stat about {};
    return stat("/", &about) == 0 ? about.st_uid : 0;
  }();
  return owner == 0 || owner == of_everything || owner == TrustedUser();
}

std::string WritersOf(const struct stat& about, int fd, const std::filesystem::path& path) {
  if ((about.st_mode & S_IWOTH) != 0) return "users other than you and root may write to it";
  if ((about.st_mode & S_IWGRP) == 0) return {};
  if (!IsPrivateGroup(about.st_gid, TrustedUser()) && !IsPrivateGroup(about.st_gid, 0))
    return fmt::format("group {} may write to it", about.st_gid);
  return HasAccessList(fd, path) ? "users other than you and root may write to it by its access control list" : "";
}

std::string ReasonForDistrust(const struct stat& about) { return Reason(about, -1, {}); }
std::string ReasonForDistrust(const struct stat& about, int fd) { return Reason(about, fd, {}); }
std::string ReasonForDistrust(const struct stat& about, const std::filesystem::path& path) {
  return Reason(about, -1, path);
}

}  // namespace deputy::host
