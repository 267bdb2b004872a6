#include "config/words.hpp"

namespace deputy::host {
namespace {

constexpr Word<Trust> kTrust[] = {{Trust::kListed, "listed", false}, {Trust::kProbe, "probe"}, {Trust::kAny, "any"}};

constexpr Word<AutoUse> kAutoUse[] = {{AutoUse::kOff, "off"}, {AutoUse::kLast, "last"}};

constexpr Word<Fallback> kFallback[] = {{Fallback::kCpu, "cpu"}, {Fallback::kDisabled, "none"}};

constexpr Word<OnFailure> kOnFailure[] = {{OnFailure::kNext, "next"}, {OnFailure::kFail, "fail"}};

constexpr Word<Policy> kPolicy[] = {
    {Policy::kPriority, "priority"}, {Policy::kCost, "cost", false}, {Policy::kMeasured, "measured", false}};

constexpr Word<LogLevel> kLogLevel[] = {{LogLevel::kDebug, "debug"},
                                        {LogLevel::kInfo, "info"},
                                        {LogLevel::kWarning, "warning"},
                                        {LogLevel::kError, "error"},
                                        {LogLevel::kOff, "off"}};

}  // namespace

std::span<const Word<Trust>> Words(Trust) { return kTrust; }
std::span<const Word<AutoUse>> Words(AutoUse) { return kAutoUse; }
std::span<const Word<Fallback>> Words(Fallback) { return kFallback; }
std::span<const Word<OnFailure>> Words(OnFailure) { return kOnFailure; }
std::span<const Word<Policy>> Words(Policy) { return kPolicy; }
std::span<const Word<LogLevel>> Words(LogLevel) { return kLogLevel; }

}  // namespace deputy::host
