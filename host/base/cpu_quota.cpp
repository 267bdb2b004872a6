#include "base/cpu_quota.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace deputy::host {
namespace {

// A mount of a hierarchy of groups: version 2, or that of version 1 with the controller.
struct GroupMount {
  std::string root, point;  // the group that is mounted, and where
  bool is_second = false;   // version
};

bool HasWord(const std::string& list, std::string_view word) {
  std::istringstream words(list);
  for (std::string one; std::getline(words, one, ',');)
    if (one == word) return true;
  return false;
}

// Blanks and the like are octal numbers in these files.
std::string Unescaped(const std::string& text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && text.size() - i > 3) {
      plain += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

std::vector<GroupMount> GroupMounts(const std::string& root) {
  std::vector<GroupMount> mounts;
  std::ifstream file(root + "/proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string skipped, group, point, word;
    words >> skipped >> skipped >> skipped >> group >> point;
    while (words >> word && word != "-") {
    }
    std::string type, source, options;
    words >> type >> source >> options;
    if (type == "cgroup2" || (type == "cgroup" && HasWord(options, "cpu")))
      mounts.push_back({Unescaped(group), Unescaped(point), type == "cgroup2"});
  }
  return mounts;
}

// The path of the process' group in the hierarchy.
std::string GroupOf(const std::string& root, bool is_second) {
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (is_second ? controllers.empty() : HasWord(controllers, "cpu")) return line.substr(second + 1);
  }
  return "/";
}

std::optional<double> QuotaOf(const std::string& group, bool is_second) {
  double time = 0, period = 0;
  if (is_second) {
    std::ifstream file(group + "/cpu.max");  // "max 100000", "50000 100000"
    if (!(file >> time >> period)) return std::nullopt;
  } else {
    std::ifstream quota(group + "/cpu.cfs_quota_us"), of(group + "/cpu.cfs_period_us");
    if (!(quota >> time) || !(of >> period)) return std::nullopt;
  }
  return time > 0 && period > 0 ? std::optional(time / period) : std::nullopt;
}

}  // namespace

// Texts, since copies of paths end the program where memory is short.
std::optional<double> CpuQuota(const std::string& root) {
  std::optional<double> least;
  for (const GroupMount& mount : GroupMounts(root)) {
    std::string group = GroupOf(root, mount.is_second);
    // A container sees a part of the hierarchy, and may see the whole path of its group.
    if (mount.root != "/") group = group.rfind(mount.root, 0) == 0 ? group.substr(mount.root.size()) : "";
    const std::string top = root + "/" + mount.point + "/";
    for (;; group.erase(group.rfind('/'))) {
      if (const std::optional<double> quota = QuotaOf(top + group, mount.is_second))
        least = std::min(least.value_or(*quota), *quota);
      if (group.rfind('/') == std::string::npos) break;
    }
  }
  return least;
}

}  // namespace deputy::host
