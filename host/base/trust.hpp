// Trust in files: a file that users other than root and the current one can change may hold anything.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <string>

namespace deputy::host {

// How users other than root and this one could change the file or folder ("belongs to user 1001", "users other than you
// and root may write to it (mode 0777)"); empty if they cannot. A group may write if it is the private group of root or
// of this user, that is the primary group of the user of the same name, without other members, as umask 002 assumes.
// [any-thread]
std::string ReasonForDistrust(const struct stat& about);
// The same for a file or folder that may have a POSIX access control list: with one, the group's permissions in `about`
// are the maximum of any user or group of the list. [any-thread]
std::string ReasonForDistrust(const struct stat& about, int fd);
std::string ReasonForDistrust(const struct stat& about, const std::filesystem::path& path);

}  // namespace deputy::host
