#include "base/worker_environment.hpp"

#include <unistd.h>

#include <algorithm>

namespace deputy::host {
namespace {

// The dynamic linker and the C library, the user's language and time, the number of threads, the choice of devices,
// and the reports of sanitizers.
constexpr std::string_view kAlways[] = {"PATH",
                                        "HOME",
                                        "LANG",
                                        "LANGUAGE",
                                        "LC_*",
                                        "TZ",
                                        "TZDIR",
                                        "TERM",
                                        "LD_LIBRARY_PATH",
                                        "LD_PRELOAD",
                                        "GLIBC_TUNABLES",
                                        "MALLOC_*",
                                        "OMP_*",
                                        "GOMP_*",
                                        "KMP_*",
                                        "ASAN_OPTIONS",
                                        "LSAN_OPTIONS",
                                        "TSAN_OPTIONS",
                                        "UBSAN_OPTIONS",
                                        "CUDA_VISIBLE_DEVICES",
                                        "NVIDIA_VISIBLE_DEVICES",
                                        "ROCR_VISIBLE_DEVICES",
                                        "HIP_VISIBLE_DEVICES",
                                        "ASCEND_RT_VISIBLE_DEVICES",
                                        "ZE_AFFINITY_MASK"};

bool Matches(std::string_view pattern, std::string_view name) {
  if (!pattern.empty() && pattern.back() == '*') {
    pattern.remove_suffix(1);
    return name.substr(0, pattern.size()) == pattern;
  }
  return name == pattern;
}

}  // namespace

bool IsVariablePattern(std::string_view text) {
  if (!text.empty() && text.back() == '*')
    text.remove_suffix(1);
  else if (text.empty())
    return false;
  if (!text.empty() && text.front() >= '0' && text.front() <= '9') return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

std::vector<std::string> WorkerEnvironment(std::span<const std::string> patterns) {
  std::vector<std::string> variables;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string_view text(*variable);
    const std::string_view name = text.substr(0, text.find('='));
    const auto matches = [name](std::string_view pattern) { return Matches(pattern, name); };
    const auto assigns = [name](std::string_view pattern) {
      return pattern.starts_with(name) && pattern.substr(name.size()).starts_with('=');
    };
    if (std::any_of(patterns.begin(), patterns.end(), assigns)) continue;
    if (std::any_of(std::begin(kAlways), std::end(kAlways), matches) ||
        std::any_of(patterns.begin(), patterns.end(), matches))
      variables.emplace_back(text);
  }
  for (const std::string& pattern : patterns)
    if (pattern.find('=') != std::string::npos) variables.push_back(pattern);
  return variables;
}

}  // namespace deputy::host
