// What this process holds of the system: descriptors, threads, child processes and memory.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace deputy {

struct ProcessState {
  size_t descriptors = 0, threads = 0;
  std::vector<pid_t> children;
  uint64_t resident_kilobytes = 0;
};

// The children of all threads, zombies included.
inline std::vector<pid_t> ChildProcesses() {
  std::vector<pid_t> children;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream list(thread.path() / "children");
    for (pid_t child = 0; list >> child;) children.push_back(child);
  }
  return children;
}

// Of a process, in kilobytes; 0 where there is none of this number.
inline uint64_t ResidentKilobytes(const std::string& process = "self") {
  std::ifstream status("/proc/" + process + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind("VmRSS:", 0) == 0) return std::stoull(line.substr(6));
  return 0;
}

inline ProcessState StateOfThisProcess() {
  ProcessState state;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++state.descriptors;
  --state.descriptors;  // the folder's own
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) ++state.threads;
  state.children = ChildProcesses();
  state.resident_kilobytes = ResidentKilobytes();
  return state;
}

}  // namespace deputy
