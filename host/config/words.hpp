// The words that the YAML uses for each enumeration: the one list for reading, printing and messages.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "config/config.hpp"

namespace deputy::host {

template <class E>
struct Word {
  E value;
  std::string_view text;
};

inline constexpr Word<Trust> kTrust[] = {{Trust::kListed, "listed"}, {Trust::kProbe, "probe"}, {Trust::kAny, "any"}};
inline constexpr Word<AutoUse> kAutoUse[] = {{AutoUse::kOff, "off"}, {AutoUse::kLast, "last"}};
inline constexpr Word<Fallback> kFallback[] = {{Fallback::kCpu, "cpu"}, {Fallback::kDisabled, "none"}};
inline constexpr Word<OnFailure> kOnFailure[] = {{OnFailure::kNext, "next"}, {OnFailure::kFail, "fail"}};
inline constexpr Word<Isolation> kIsolation[] = {
    {Isolation::kAuto, "auto"}, {Isolation::kInProcess, "none"}, {Isolation::kProcess, "process"}};
inline constexpr Word<Precision> kPrecision[] = {{Precision::kOwn, "own"},
                                                 {Precision::kFloat32, "float32"},
                                                 {Precision::kFloat16, "float16"},
                                                 {Precision::kBfloat16, "bfloat16"}};
inline constexpr Word<Policy> kPolicy[] = {
    {Policy::kPriority, "priority"}, {Policy::kCost, "cost"}, {Policy::kMeasured, "measured"}};
inline constexpr Word<VerifyWhen> kVerifyWhen[] = {{VerifyWhen::kAuto, "auto"},
                                                   {VerifyWhen::kNever, "never"},
                                                   {VerifyWhen::kFirstRun, "first_run"},
                                                   {VerifyWhen::kAlways, "always"}};
inline constexpr Word<LogLevel> kLogLevel[] = {{LogLevel::kDebug, "debug"},
                                               {LogLevel::kInfo, "info"},
                                               {LogLevel::kWarning, "warning"},
                                               {LogLevel::kError, "error"},
                                               {LogLevel::kOff, "off"}};

inline constexpr Word<LogFormat> kLogFormat[] = {
    {LogFormat::kAuto, "auto"}, {LogFormat::kText, "text"}, {LogFormat::kJson, "json"}};

// All words of the argument's type; its value does not matter.
constexpr std::span<const Word<Trust>> Words(Trust) { return kTrust; }
constexpr std::span<const Word<AutoUse>> Words(AutoUse) { return kAutoUse; }
constexpr std::span<const Word<Fallback>> Words(Fallback) { return kFallback; }
constexpr std::span<const Word<OnFailure>> Words(OnFailure) { return kOnFailure; }
constexpr std::span<const Word<Isolation>> Words(Isolation) { return kIsolation; }
constexpr std::span<const Word<Precision>> Words(Precision) { return kPrecision; }
constexpr std::span<const Word<Policy>> Words(Policy) { return kPolicy; }
constexpr std::span<const Word<VerifyWhen>> Words(VerifyWhen) { return kVerifyWhen; }
constexpr std::span<const Word<LogLevel>> Words(LogLevel) { return kLogLevel; }
constexpr std::span<const Word<LogFormat>> Words(LogFormat) { return kLogFormat; }

// The texts, in the order of the list.
template <class E>
std::vector<std::string_view> WordTexts() {
  std::vector<std::string_view> texts;
  for (const Word<E>& word : Words(E{})) texts.push_back(word.text);
  return texts;
}

template <class E>
std::string_view WordFor(E value) {
  for (const Word<E>& word : Words(value))
    if (word.value == value) return word.text;
  return {};
}

}  // namespace deputy::host
