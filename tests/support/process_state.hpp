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

// Whether a thread of this process waits for something: a lock, a descriptor, a signal or a time.
inline bool IsAsleep(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string stat;
  std::getline(file, stat);
  const size_t behind = stat.rfind(')');  // of the name
  return behind != std::string::npos && stat.compare(behind, 3, ") S") == 0;
}

inline size_t SleepingThreads() {
  size_t count = 0;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task"))
    count += IsAsleep(std::stoi(thread.path().filename())) ? 1 : 0;
  return count;
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
