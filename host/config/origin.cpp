#include "config/origin.hpp"

#include <fmt/format.h>

#include <cstdint>

#include "base/printable.hpp"

namespace deputy::host {

std::string Origin::ToString() const {
  const std::string name = Printable(source, SIZE_MAX);
  return line > 0 ? fmt::format("{}:{}:{}", name, line, column) : name;
}

std::string_view NameOf(ProblemCode code) {
  switch (code) {
    case ProblemCode::kSyntax: return "syntax";
    case ProblemCode::kFile: return "file";
    case ProblemCode::kVersion: return "version";
    case ProblemCode::kUnknownKey: return "unknown-key";
    case ProblemCode::kMissingKey: return "missing-key";
    case ProblemCode::kUnavailable: return "unavailable";
    case ProblemCode::kDuplicate: return "duplicate";
    case ProblemCode::kValue: return "value";
    case ProblemCode::kNoDelegates: return "no-delegates";
    case ProblemCode::kOrder: return "order";
    case ProblemCode::kUnknownDelegate: return "unknown-delegate";
    case ProblemCode::kPlugin: return "plugin";
    case ProblemCode::kAbsent: return "absent";
    case ProblemCode::kOption: return "option";
    case ProblemCode::kUnknownOperator: return "unknown-operator";
    case ProblemCode::kNoMatch: return "no-match";
    case ProblemCode::kNoEffect: return "no-effect";
    case ProblemCode::kLoad: return "load";
  }
  return {};
}

std::string Quoted(std::string_view text) { return "'" + Printable(text, 60) + "'"; }

}  // namespace deputy::host
