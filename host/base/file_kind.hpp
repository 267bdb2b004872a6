// The type of a file, in words for messages.
#pragma once

#include <sys/stat.h>

namespace deputy::host {

inline const char* KindOfFile(mode_t mode) {
  if (S_ISREG(mode)) return "a file";
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISLNK(mode)) return "a symbolic link";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

}  // namespace deputy::host
