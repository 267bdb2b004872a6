#include "bundle/version.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string>
#include <vector>

namespace deputy::host::bundle {
namespace {

// In the order in which they are compared at the same place.
enum class Kind { kPreRelease, kEnd, kRevision, kLetters, kNumber };

struct Part {
  Kind kind = Kind::kEnd;
  std::string text;  // of a number without leading zeros; that of 0 is empty
};

bool IsPreReleaseWord(std::string word) {
  std::transform(word.begin(), word.end(), word.begin(), [](unsigned char c) { return std::tolower(c); });
  constexpr std::string_view kWords[] = {"alpha", "beta", "dev", "pre", "preview", "rc", "snapshot"};
  return std::find(std::begin(kWords), std::end(kWords), word) != std::end(kWords);
}

std::vector<Part> PartsOf(std::string_view version) {
  std::vector<Part> parts;
  for (size_t at = 0; at < version.size();) {
    const size_t begin = at;
    if (IsDigit(version[at])) {
      while (at < version.size() && IsDigit(version[at])) ++at;
      const size_t first = std::min(version.find_first_not_of('0', begin), at);
      const bool revision = begin > 0 && version[begin - 1] == '-';
      parts.push_back({revision ? Kind::kRevision : Kind::kNumber, std::string(version.substr(first, at - first))});
    } else if (IsLetter(version[at])) {
      while (at < version.size() && IsLetter(version[at])) ++at;
      std::string word(version.substr(begin, at - begin));
      const bool before = (begin > 0 && version[begin - 1] == '-') || IsPreReleaseWord(word);
      parts.push_back({before ? Kind::kPreRelease : Kind::kLetters, std::move(word)});
    } else {
      if (version[at++] == '~') parts.push_back({Kind::kPreRelease, ""});
    }
  }
  // Zeros before anything but a number count as nothing: 1.0-rc1 is before 1.
  for (size_t i = parts.size(); i-- > 0;)
    if (parts[i].kind == Kind::kNumber && parts[i].text.empty() &&
        (i + 1 == parts.size() || parts[i + 1].kind != Kind::kNumber))
      parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(i));
  return parts;
}

int Order(const auto& a, const auto& b) { return a < b ? -1 : b < a ? 1 : 0; }

int Compare(const Part& a, const Part& b) {
  if (a.kind != b.kind) return Order(a.kind, b.kind);
  const bool number = a.kind == Kind::kNumber || a.kind == Kind::kRevision;
  if (number && a.text.size() != b.text.size()) return Order(a.text.size(), b.text.size());
  return Order(a.text, b.text);
}

}  // namespace

int CompareVersions(std::string_view a, std::string_view b) {
  const std::vector<Part> left = PartsOf(a), right = PartsOf(b);
  for (size_t i = 0; i < std::max(left.size(), right.size()); ++i)
    if (const int order = Compare(i < left.size() ? left[i] : Part(), i < right.size() ? right[i] : Part()); order != 0)
      return order;
  return 0;
}

}  // namespace deputy::host::bundle
