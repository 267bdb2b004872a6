#include "base/fault_limits.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <charconv>

namespace deputy::host {

FaultLimits FaultLimits::OfSystem(bool sandbox) {
  constexpr struct {
    __rlimit_resource resource;
    std::string_view name;
  } kInherited[] = {{RLIMIT_AS, "address_space"},  {RLIMIT_DATA, "data"},       {RLIMIT_STACK, "stack"},
                    {RLIMIT_NOFILE, "open_files"}, {RLIMIT_NPROC, "processes"}, {RLIMIT_CPU, "processor_seconds"}};
  FaultLimits limits;
  for (const auto& [resource, name] : kInherited) {
    rlimit limit{};
    if (getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) limits.Add(name, limit.rlim_cur);
  }
  if (sandbox) limits.Add("sandbox", 0);
  return limits;
}

void FaultLimits::Add(std::string_view name, uint64_t most) {
  const auto [known, added] = most_.try_emplace(std::string(name), most);
  if (!added) known->second = std::min(known->second, most);
}

void FaultLimits::Add(const FaultLimits& others) {
  for (const auto& [name, most] : others.most_) Add(name, most);
}

bool FaultLimits::CountsWith(const FaultLimits& those) const {
  return std::all_of(most_.begin(), most_.end(), [&](const auto& limit) {
    const auto other = those.most_.find(limit.first);
    return other != those.most_.end() && other->second <= limit.second;
  });
}

std::string FaultLimits::ToText() const {
  std::string text;
  for (const auto& [name, most] : most_) text += fmt::format("{}{}:{}", text.empty() ? "" : " ", name, most);
  return text;
}

FaultLimits FaultLimits::Parse(std::string_view text) {
  FaultLimits limits;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    // A limit that cannot be read is one that no process has.
    const size_t colon = std::min(word.find(':'), word.size());
    uint64_t most = 0;
    if (colon < word.size()) std::from_chars(word.data() + colon + 1, word.data() + word.size(), most);
    limits.Add(word.substr(0, colon), most);
  }
  return limits;
}

std::string FaultLimits::Describe() const {
  std::string text;
  for (const std::string_view name : {kTimeout, kCallTimeout, kCallTimeoutTotal, kProbeTimeout, kMemory}) {
    const auto limit = most_.find(name);
    if (limit == most_.end()) continue;
    constexpr uint64_t kMegabyte = 1'000'000;
    text += fmt::format("{}{} of {} or less", text.empty() ? "" : " and ", name,
                        name != kMemory                  ? fmt::format("{} ms", limit->second)
                        : limit->second % kMegabyte == 0 ? fmt::format("{} MB", limit->second / kMegabyte)
                                                         : fmt::format("{} bytes", limit->second));
  }
  return text;
}

}  // namespace deputy::host
