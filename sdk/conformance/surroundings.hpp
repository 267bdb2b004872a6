// What a plugin shares with everything else in the process and has to leave as it was: taken before and after, and
// compared. And what it may use up: memory, descriptors, threads.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace deputy::conformance {

struct Surroundings {
  std::string locale, folder;
  std::map<std::string, std::string> environment;
  std::vector<std::string> signals;  // handler and mask of each signal
  unsigned umask = 0;

  static Surroundings Take();
  // What of it is not as in `before`; "" when nothing is.
  std::string ChangesSince(const Surroundings& before) const;
};

struct Usage {
  size_t bytes = 0;  // of the heap, in use
  size_t descriptors = 0;
  size_t threads = 0;

  static Usage Take();
};

size_t ThreadCount();
// The threads beyond `before`, once those that have been joined are gone from the kernel's list too, which may take it
// a moment; waits for a second at most.
size_t ThreadsBeyond(size_t before);

}  // namespace deputy::conformance
