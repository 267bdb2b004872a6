// Why a file in a plugin folder is not used, as a word for programs and a sentence for users.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "deputy/status.hpp"

namespace deputy::host {

enum class RejectReason : uint32_t {
  kNotAPlugin,         // a valid library that is not a plugin
  kMissing,            // the folder or file does not exist
  kNotAFile,           // a directory, pipe, socket or device
  kUnreadable,         // no permission, input/output error
  kNotElf,             // empty, text, anything else
  kTruncated,          // headers name bytes behind the end
  kDamaged,            // headers contradict each other
  kWrongArchitecture,  // class, byte order or machine
  kNotSharedLibrary,   // an executable, object or core file
  kExecutableStack,
  kTextRelocations,
  kNoNote,
  kBadNote,
  kBadUtf8,
  kNoEntrySymbol,
  kAbiMismatch,
  kNeedsCpuFeature,
  kSanitizerMismatch,
  kDuplicate,  // another file with the same inode or plugin id was found first
  kUntrusted,  // users other than root and this one could change the file or its folder
  kNoWorker,   // the probe program is missing or cannot be started
  kProbeCrashed,
  kProbeExited,  // ended without an answer
  kProbeTimedOut,
  kProbeStarved,  // no answer in time, but the probe waited for a processor for much of it
  kProbeKilled,   // ended by SIGKILL, as by a system that lacks memory
  kProbeGarbage,  // answered, but not in the protocol
  kLoadFailed,    // the dynamic linker's refusal: a missing dependency, an undefined symbol
  kThrew,         // an exception left a function of the plugin
  kNoTable,       // the entry function returned NULL
  kBadTable,      // its tables, counts or texts break the rules
  kInitFailed,
  kChanged,     // not the file that was probed
  kNotListed,   // `trust: listed`, and the lock does not list the file, or lists another one
  kFailedInUse  // its worker process failed again and again
};

// Whether the plugin itself failed when it was run: it crashed, hung, ended the process or garbled its answer.
bool IsFault(RejectReason reason);

// "wrong-architecture": stable, for machines; and back.
std::string_view NameOf(RejectReason reason);
std::optional<RejectReason> RejectReasonOf(std::string_view name);

struct Rejection {
  RejectReason reason = RejectReason::kDamaged;
  std::string text;  // one sentence, lower case
};

// A value or the reason why the file is not used.
template <class T>
using Checked = std::variant<T, Rejection>;

template <class T>
const Rejection* RejectionOf(const Checked<T>& checked) {
  return std::get_if<Rejection>(&checked);
}

}  // namespace deputy::host

// DEPUTY_ASSIGN_OR_REJECT(const Manifest manifest, ReadManifest(file, host)); in a function that can return a Rejection
#define DEPUTY_ASSIGN_OR_REJECT(target, expr) \
  DEPUTY_ASSIGN_OR_REJECT_(DEPUTY_CONCAT(deputy_checked_, __LINE__), target, expr)
#define DEPUTY_ASSIGN_OR_REJECT_(checked, target, expr)                                                 \
  auto checked = (expr);                                                                                \
  if (auto* rejection = std::get_if<::deputy::host::Rejection>(&checked)) return std::move(*rejection); \
  target = std::get<0>(std::move(checked))
