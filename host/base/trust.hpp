// Whose files may be believed: what anybody but root and the user can change may hold anything.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <string>

namespace deputy::host {

// How users other than root and this one could change the file or folder ("belongs to user 1001", "others than you and
// root may write to it (mode 0777)"); empty if they cannot. A group may write if it is the private group of root or of
// this user, that is the primary group of the name of its user with no other members, as umask 002 supposes.
// [any-thread]
std::string ReasonForDistrust(const struct stat& about);
// The same of a file or folder that may have a POSIX access control list: with one, the group's permissions in `about`
// are the most that any user or group of the list may have. [any-thread]
std::string ReasonForDistrust(const struct stat& about, int fd);
std::string ReasonForDistrust(const struct stat& about, const std::filesystem::path& path);

}  // namespace deputy::host
