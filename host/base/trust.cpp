#include "base/trust.hpp"

#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/auxv.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
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

// A file of /proc that begins with these numbers; `fallback` where it cannot be read, or does not.
std::vector<uint64_t> NumbersOf(const char* path, std::vector<uint64_t> fallback) {
  std::ifstream file(path);
  std::vector<uint64_t> numbers(fallback.size());
  for (uint64_t& number : numbers)
    if (!(file >> number)) return fallback;
  return numbers;
}

constexpr uint64_t kUsualOverflow = 65534;

gid_t OverflowGroup() {
  static const auto group = static_cast<gid_t>(NumbersOf("/proc/sys/kernel/overflowgid", {kUsualOverflow})[0]);
  return group;
}

// Whether this user namespace has a number for every user, as the first one of the system has.
bool MapsAllUsers() {
  constexpr uint64_t kAll = 4294967295;                                          // the last number means no user
  const std::vector<uint64_t> map = NumbersOf("/proc/self/uid_map", {0, 0, 0});  // inside, outside, count
  return map[0] == 0 && map[2] == kAll;
}

// Whether `test` holds for an entry of a database, or the database cannot be read to its end.
template <class Entry, class Test>
bool AnyEntry(const char* path, int (*next)(FILE*, Entry*, char*, size_t, Entry**), Test test) {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path, "re"), std::fclose);
  if (file == nullptr) return errno != ENOENT;
  std::vector<char> buffer(size_t{1} << 20);
  Entry entry{};
  for (Entry* found = nullptr;;) {
    const int error = next(file.get(), &entry, buffer.data(), buffer.size(), &found);
    if (error != 0) return error != ENOENT;
    if (test(entry)) return true;
  }
}

// Whether a user other than this one is in the group: by its primary group, which the group's entry does not show, or
// as a member of any entry with that number. Read from the files themselves, because only that disturbs no other thread
// of the application.
bool HasOthers(gid_t group, uid_t user, const char* name) {
  return AnyEntry<passwd>("/etc/passwd", fgetpwent_r,
                          [&](const passwd& entry) { return entry.pw_gid == group && entry.pw_uid != user; }) ||
         AnyEntry<::group>("/etc/group", fgetgrent_r, [&](const ::group& entry) {
           if (entry.gr_gid != group) return false;
           for (char** member = entry.gr_mem; member != nullptr && *member != nullptr; ++member)
             if (std::strcmp(*member, name) != 0) return true;
           return false;
         });
}

// The private group of a user. Without any entry in the databases (as in containers) the numbers decide.
bool IsPrivateGroup(gid_t group, uid_t user) {
  if (group == 0 || group == OverflowGroup()) return false;
  const Found<passwd> owner = LookUp<passwd, uid_t>(getpwuid_r, user);
  const char* name = owner.result == nullptr ? "" : owner.entry.pw_name;
  if (HasOthers(group, user, name)) return false;
  const Found<::group> shared = LookUp<::group, gid_t>(getgrgid_r, group);
  if (shared.result == nullptr) return static_cast<uid_t>(group) == user;
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
  if (!IsTrustedOwner(about.st_uid)) return OwnerText(about.st_uid);
  const std::string writers = WritersOf(about, fd, path);
  if (writers.empty()) return {};
  return fmt::format("{} (mode {:04o}); chmod go-w", writers, static_cast<unsigned>(about.st_mode & 07777));
}

}  // namespace

uid_t OverflowUser() {
  static const auto user = static_cast<uid_t>(NumbersOf("/proc/sys/kernel/overflowuid", {kUsualOverflow})[0]);
  return user;
}

bool IsTrustedOwner(uid_t owner) {
  static const uid_t of_everything = [] {
    struct stat about {};
    return stat("/", &about) == 0 ? about.st_uid : 0;
  }();
  if (owner == OverflowUser()) return owner == TrustedUser() && MapsAllUsers();
  return owner == 0 || owner == of_everything || owner == TrustedUser();
}

bool IsUnmapped(uid_t owner) { return owner == OverflowUser() && !MapsAllUsers(); }

std::string OwnerText(uid_t owner) {
  return fmt::format("belongs to user {}{}", owner,
                     IsUnmapped(owner) ? ", which stands for all that this user namespace does not map" : "");
}

std::string WritersOf(const struct stat& about, int fd, const std::filesystem::path& path) {
  if ((about.st_mode & S_IWOTH) != 0) return "users other than you and root may write to it";
  if ((about.st_mode & S_IWGRP) == 0) return {};
  // The permissions of the group are then the most that any user or group of the list has.
  if (HasAccessList(fd, path)) return "users other than you and root may write to it by its access control list";
  if (!IsPrivateGroup(about.st_gid, TrustedUser())) return fmt::format("group {} may write to it", about.st_gid);
  return {};
}

std::string ReasonForDistrust(const struct stat& about) { return Reason(about, -1, {}); }
std::string ReasonForDistrust(const struct stat& about, int fd) { return Reason(about, fd, {}); }
std::string ReasonForDistrust(const struct stat& about, const std::filesystem::path& path) {
  return Reason(about, -1, path);
}

}  // namespace deputy::host
