// Trust in files: a file that users other than root and the current one can change may hold anything. judged_file.hpp
// judges whole paths by these rules.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <string>

namespace deputy::host {

// Whether a user may change files without making them untrusted: root, this one, and the owner of the folder `/`, which
// could replace every library, and in a user namespace stands for root. In a program with more rights than its caller
// that runs as its caller (set-group-ID, file capabilities) this user does not count. [any-thread]
bool IsTrustedOwner(uid_t owner);

// "users other than you and root may write to it"; empty if they may not. A group may write if it is the private group
// of root or of this user, that is the primary group of the user of the same name, without other members, as umask 002
// assumes. With a POSIX access control list the group's permissions in `about` are the maximum of any user or group of
// the list, which is asked for by `fd` or, where that is negative, by `path`. [any-thread]
std::string WritersOf(const struct stat& about, int fd, const std::filesystem::path& path);

// How users other than root and this one could change the file or folder: "belongs to user 1001", or the above with its
// mode and the remedy; empty if they cannot. [any-thread]
std::string ReasonForDistrust(const struct stat& about);
std::string ReasonForDistrust(const struct stat& about, int fd);
std::string ReasonForDistrust(const struct stat& about, const std::filesystem::path& path);

}  // namespace deputy::host
