#include "base/machine_load.hpp"

#include <dirent.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <vector>

namespace deputy::host {
namespace {

constexpr uint64_t kLeastTicks = 5;  // 50 ms: with fewer, a tick more or less is a tenth
constexpr size_t kMostDescendants = 4096;

// utime and stime of proc_pid_stat(5), which stand behind the command in parentheses, plus those of its ended children.
uint64_t TicksOf(const std::string& stat_file) {
  std::ifstream file(stat_file);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const size_t behind = text.rfind(')');
  if (behind == std::string::npos) return 0;
  std::istringstream words(text.substr(behind + 1));
  std::string skipped;
  for (int field = 3; field < 14; ++field) words >> skipped;
  uint64_t ticks = 0, sum = 0;
  for (int field = 14; field < 18 && words >> ticks; ++field) sum += ticks;
  return sum;
}

// The process and its descendants: the workers of isolated plugins.
uint64_t OwnTicks(const std::string& proc) {
  uint64_t sum = 0;
  std::vector<std::string> folders = {proc + "/self"};
  for (size_t i = 0; i < folders.size() && i < kMostDescendants; ++i) {
    sum += TicksOf(folders[i] + "/stat");
    const std::unique_ptr<DIR, int (*)(DIR*)> tasks(opendir((folders[i] + "/task").c_str()), closedir);
    for (const dirent* task = nullptr; tasks != nullptr && (task = readdir(tasks.get())) != nullptr;) {
      std::ifstream children(folders[i] + "/task/" + task->d_name + "/children");
      for (std::string pid; children >> pid;) folders.push_back(proc + "/" + pid);
    }
  }
  return sum;
}

std::vector<bool> UsableProcessors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<bool> usable;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return usable;
  for (size_t i = 0; i < CPU_SETSIZE; ++i) usable.push_back(CPU_ISSET(i, &set));
  return usable;
}

}  // namespace

std::optional<ProcessorTime> ReadProcessorTime(const std::string& proc) {
  std::ifstream file(proc + "/stat");
  const std::vector<bool> usable = UsableProcessors();
  ProcessorTime time;
  for (std::string line; std::getline(file, line);) {
    if (line.compare(0, 3, "cpu") != 0) break;        // the processors come first
    if (line.size() > 3 && line[3] == ' ') continue;  // all of them together
    std::istringstream words(line.substr(3));
    size_t number = 0;
    uint64_t user = 0, nice = 0, system = 0, idle = 0, waiting = 0, interrupts = 0, soft = 0, stolen = 0;
    if (!(words >> number >> user >> nice >> system >> idle >> waiting >> interrupts >> soft >> stolen)) continue;
    if (number >= usable.size() || !usable[number]) continue;
    const uint64_t busy = user + nice + system + interrupts + soft + stolen;
    time.busy += busy;
    time.wall += busy + idle + waiting;
    ++time.processors;
  }
  if (time.processors == 0) return std::nullopt;
  time.wall /= time.processors;
  time.own = OwnTicks(proc);
  return time;
}

std::optional<double> ShareOfOthers(const ProcessorTime& begin, const ProcessorTime& end) {
  if (end.processors != begin.processors || end.wall < begin.wall + kLeastTicks) return std::nullopt;
  const auto busy = static_cast<double>(end.busy) - static_cast<double>(begin.busy);
  const auto own = static_cast<double>(end.own) - static_cast<double>(begin.own);
  const double all = static_cast<double>(end.wall - begin.wall) * end.processors;
  return std::clamp((busy - own) / all, 0.0, 1.0);
}

std::optional<double> LoadMeter::ShareOfOthers() const {
  const std::optional<ProcessorTime> end = begin_ ? ReadProcessorTime() : std::nullopt;
  return end ? host::ShareOfOthers(*begin_, *end) : std::nullopt;
}

}  // namespace deputy::host
