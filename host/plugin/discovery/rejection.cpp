#include "plugin/discovery/rejection.hpp"

namespace deputy::host {

std::string_view NameOf(RejectReason reason) {
  switch (reason) {
    case RejectReason::kNotAPlugin: return "not-a-plugin";
    case RejectReason::kMissing: return "missing";
    case RejectReason::kNotAFile: return "not-a-file";
    case RejectReason::kUnreadable: return "unreadable";
    case RejectReason::kNotElf: return "not-elf";
    case RejectReason::kTruncated: return "truncated";
    case RejectReason::kDamaged: return "damaged";
    case RejectReason::kWrongArchitecture: return "wrong-architecture";
    case RejectReason::kNotSharedLibrary: return "not-shared-library";
    case RejectReason::kExecutableStack: return "executable-stack";
    case RejectReason::kTextRelocations: return "text-relocations";
    case RejectReason::kNoNote: return "no-note";
    case RejectReason::kBadNote: return "bad-note";
    case RejectReason::kBadUtf8: return "bad-utf8";
    case RejectReason::kNoEntrySymbol: return "no-entry-symbol";
    case RejectReason::kAbiMismatch: return "abi-mismatch";
    case RejectReason::kNeedsCpuFeature: return "needs-cpu-feature";
    case RejectReason::kSanitizerMismatch: return "sanitizer-mismatch";
    case RejectReason::kDuplicate: return "duplicate";
    case RejectReason::kUntrusted: return "untrusted";
    case RejectReason::kNoWorker: return "no-worker";
    case RejectReason::kProbeCrashed: return "probe-crashed";
    case RejectReason::kProbeExited: return "probe-exited";
    case RejectReason::kProbeTimedOut: return "probe-timed-out";
    case RejectReason::kProbeStarved: return "probe-starved";
    case RejectReason::kProbeKilled: return "probe-killed";
    case RejectReason::kProbeGarbage: return "probe-garbage";
    case RejectReason::kLoadFailed: return "load-failed";
    case RejectReason::kThrew: return "threw";
    case RejectReason::kNoTable: return "no-table";
    case RejectReason::kBadTable: return "bad-table";
    case RejectReason::kInitFailed: return "init-failed";
    case RejectReason::kChanged: return "changed";
    case RejectReason::kNotListed: return "not-listed";
    case RejectReason::kFailedInUse: return "failed-in-use";
  }
  return "unknown";
}

std::optional<RejectReason> RejectReasonOf(std::string_view name) {
  for (uint32_t number = 0; number <= static_cast<uint32_t>(RejectReason::kFailedInUse); ++number)
    if (NameOf(static_cast<RejectReason>(number)) == name) return static_cast<RejectReason>(number);
  return std::nullopt;
}

bool IsFault(RejectReason reason) {
  return reason == RejectReason::kProbeCrashed || reason == RejectReason::kProbeExited ||
         reason == RejectReason::kProbeTimedOut || reason == RejectReason::kProbeGarbage ||
         reason == RejectReason::kFailedInUse;
}

}  // namespace deputy::host
