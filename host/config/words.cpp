#include "config/words.hpp"

namespace deputy::host {
namespace {

constexpr Word<Trust> kTrust[] = {{Trust::kListed, "listed"}, {Trust::kProbe, "probe"}, {Trust::kAny, "any"}};

constexpr Word<AutoUse> kAutoUse[] = {{AutoUse::kOff, "off"}, {AutoUse::kLast, "last"}};

constexpr Word<Precision> kPrecision[] = {{Precision::kModel, "model"},
                                          {Precision::kFp32, "fp32"},
                                          {Precision::kFp16, "fp16"},
                                          {Precision::kBf16, "bf16"},
                                          {Precision::kInt8, "int8"}};

constexpr Word<PrecisionMode> kPrecisionMode[] = {{PrecisionMode::kAllow, "allow"},
                                                  {PrecisionMode::kRequire, "require"}};

constexpr Word<Isolation> kIsolation[] = {
    {Isolation::kAuto, "auto"}, {Isolation::kInProcess, "none"}, {Isolation::kProcess, "process"}};

constexpr Word<OnFailure> kOnFailure[] = {{OnFailure::kNext, "next"}, {OnFailure::kFail, "fail"}};

constexpr Word<Fallback> kFallback[] = {{Fallback::kCpu, "cpu"}, {Fallback::kNobody, "none"}};

constexpr Word<Policy> kPolicy[] = {
    {Policy::kPriority, "priority"}, {Policy::kCost, "cost"}, {Policy::kMeasured, "measured"}};

constexpr Word<LogLevel> kLogLevel[] = {{LogLevel::kDebug, "debug"},
                                        {LogLevel::kInfo, "info"},
                                        {LogLevel::kWarning, "warning"},
                                        {LogLevel::kError, "error"},
                                        {LogLevel::kOff, "off"}};

constexpr Word<LogFormat> kLogFormat[] = {{LogFormat::kText, "text"}, {LogFormat::kJson, "json"}};

constexpr Word<DumpKind> kDumpKind[] = {{DumpKind::kGraph, "graph"},
                                        {DumpKind::kPlacement, "placement"},
                                        {DumpKind::kPlan, "plan"},
                                        {DumpKind::kTensors, "tensors"}};

}  // namespace

std::span<const Word<Trust>> Words(Trust) { return kTrust; }
std::span<const Word<AutoUse>> Words(AutoUse) { return kAutoUse; }
std::span<const Word<Precision>> Words(Precision) { return kPrecision; }
std::span<const Word<PrecisionMode>> Words(PrecisionMode) { return kPrecisionMode; }
std::span<const Word<Isolation>> Words(Isolation) { return kIsolation; }
std::span<const Word<OnFailure>> Words(OnFailure) { return kOnFailure; }
std::span<const Word<Fallback>> Words(Fallback) { return kFallback; }
std::span<const Word<Policy>> Words(Policy) { return kPolicy; }
std::span<const Word<LogLevel>> Words(LogLevel) { return kLogLevel; }
std::span<const Word<LogFormat>> Words(LogFormat) { return kLogFormat; }
std::span<const Word<DumpKind>> Words(DumpKind) { return kDumpKind; }

}  // namespace deputy::host
