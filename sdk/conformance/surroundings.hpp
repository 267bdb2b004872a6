// Process state that a plugin must leave unchanged: recorded before and after, and compared. And resources that it may
// leak: memory, descriptors, threads.
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
  // Of the process and of the thread that called the plugin: by name what would be said to have changed.
  std::map<std::string, std::string> settings;

  static Surroundings Take();
  // The differences from `before`; "" if there are none.
  std::string ChangesSince(const Surroundings& before) const;
};

struct Usage {
  size_t bytes = 0;  // of the heap, in use
  size_t descriptors = 0;
  size_t threads = 0;

  static Usage Take();
};

size_t ThreadCount();
// The number of threads beyond `before`, after the kernel has removed joined threads from its list; waits for a second
// at most.
size_t ThreadsBeyond(size_t before);

}  // namespace deputy::conformance
