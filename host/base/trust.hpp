// Trust in files: a file that users other than root and the current one can change may hold anything. judged_file.hpp
// judges whole paths by these rules.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <string>

namespace deputy::host {

// The number that the system shows for every user that the user namespace of this process does not map, and for users
// that a file system does not know. [any-thread]
uid_t OverflowUser();

// Whether a user may change files without making them untrusted: root, this one, and the owner of the folder `/`, which
// could replace every library. In a program with more rights than its caller that runs as its caller (set-group-ID,
// file capabilities) this user does not count. The overflow user does not count either, since any user could be behind
// it: only where it is this user, in a namespace that maps all users. [any-thread]
bool IsTrustedOwner(uid_t owner);

// Whether the overflow user stands for users that the user namespace of this process does not map. [any-thread]
bool IsUnmapped(uid_t owner);

// "belongs to user 1001". [any-thread]
std::string OwnerText(uid_t owner);

// "users other than you and root may write to it"; empty if they may not. A group may write if it is the private group
// of this user, that is the primary group of the user of the same name, of no other user in /etc/passwd, and without
// other members, as umask 002 assumes. Group 0 is never private: containers that run under an arbitrary user share it,
// and root has no such umask. Nor is the overflow group, as above. With a POSIX access control list the group's
// permissions in `about` are the maximum of any user or group of the list, which is asked for by `fd` or, where that is
// negative, by `path`. [any-thread]
std::string WritersOf(const struct stat& about, int fd, const std::filesystem::path& path);

// How users other than root and this one could change the file or folder: "belongs to user 1001", or the above with its
// mode and the remedy; empty if they cannot. [any-thread]
std::string ReasonForDistrust(const struct stat& about);
std::string ReasonForDistrust(const struct stat& about, int fd);
std::string ReasonForDistrust(const struct stat& about, const std::filesystem::path& path);

}  // namespace deputy::host
