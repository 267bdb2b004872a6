// The origin of a value of the configuration, and problems found there. Every value keeps its origin, so that an error
// found much later (a device refuses an option) still points at a line of a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace deputy::host {

// A file with its line and column (both from 1; columns count characters, not bytes), or a source without lines:
// "default", "--set cpu.threads", "api cpu.threads".
struct Origin {
  std::string source = "default";
  int line = 0;
  int column = 0;

  // "configs/default.yaml:3:5" or "--set cpu.threads", Printable.
  std::string ToString() const;
};

// 'text', printable, cut after 60 bytes with "...".
std::string Quoted(std::string_view text);

// Stable, for programs: NameOf has their words, and host/docs/troubleshooting.md a row for each.
enum class ProblemCode : uint8_t {
  kSyntax,
  kFile,
  kVersion,
  kUnknownKey,
  kMissingKey,
  kUnavailable,
  kDuplicate,
  kValue,
  kNoDelegates,
  kOrder,
  kUnknownDelegate,
  kPlugin,
  kAbsent,
  kOption,
  kUnknownOperator,
  kNoMatch,
  kNoEffect,
  kLoad,
};
std::string_view NameOf(ProblemCode code);

struct Problem {
  Origin at;
  std::string message;
  ProblemCode code = ProblemCode::kValue;

  std::string ToString() const { return at.ToString() + ": " + message; }
};

// Collects problems up to a limit beyond which no user would read: a damaged file can have a problem per byte.
class Problems {
 public:
  static constexpr size_t kMost = 100;

  void Add(Origin at, std::string message, ProblemCode code = ProblemCode::kValue) {
    if (full()) {
      ++dropped_;
    } else {
      list_.push_back({std::move(at), std::move(message), code});
    }
  }
  // Adds those of another collection, the ones beyond its limit too.
  void Take(const Problems& others) {
    for (const Problem& problem : others.list_) Add(problem.at, problem.message, problem.code);
    dropped_ += others.dropped_;
  }
  bool empty() const { return list_.empty(); }
  bool full() const { return list_.size() >= kMost; }
  size_t dropped() const { return dropped_; }
  const std::vector<Problem>& list() const { return list_; }

 private:
  std::vector<Problem> list_;
  size_t dropped_ = 0;
};

}  // namespace deputy::host
