#include "base/nearest.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace deputy::host {
namespace {

// Longer names are not mistyped by a letter or two; the bound limits the cost of a hostile word.
constexpr size_t kLongestWord = 64;
constexpr size_t kShortestPrefix = 3;

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool SameLetter(char a, char b) { return Lower(a) == Lower(b); }

// Optimal string alignment: insertions, deletions, replacements and swaps of neighbours.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> before_last(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (SameLetter(a[i - 1], b[j - 1]) ? 0 : 1)});
      if (i > 1 && j > 1 && SameLetter(a[i - 1], b[j - 2]) && SameLetter(a[i - 2], b[j - 1]))
        row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

size_t AllowedDistance(std::string_view a, std::string_view b) { return (std::max(a.size(), b.size()) + 1) / 3; }

// Names of several parts, such as 'sim_npu': a mistyped part is near the right one, and another word is not.
bool PartsAreNear(std::string_view a, std::string_view b) {
  constexpr std::string_view kSeparators = "_-./ ";
  if (std::count_if(a.begin(), a.end(), [&](char c) { return kSeparators.find(c) != std::string_view::npos; }) !=
      std::count_if(b.begin(), b.end(), [&](char c) { return kSeparators.find(c) != std::string_view::npos; }))
    return true;
  while (!a.empty() || !b.empty()) {
    const std::string_view part = a.substr(0, a.find_first_of(kSeparators));
    const std::string_view other = b.substr(0, b.find_first_of(kSeparators));
    if (EditDistance(part, other) > std::max<size_t>(1, AllowedDistance(part, other))) return false;
    a.remove_prefix(std::min(a.size(), part.size() + 1));
    b.remove_prefix(std::min(b.size(), other.size() + 1));
  }
  return true;
}

bool BeginsWith(std::string_view word, std::string_view prefix) {
  return word.size() >= prefix.size() && std::equal(prefix.begin(), prefix.end(), word.begin(), SameLetter);
}

template <class Text>
std::string Nearest(std::string_view word, std::span<const Text> candidates) {
  if (word.empty() || word.size() > kLongestWord) return {};
  std::string_view best;
  size_t best_distance = 0;
  for (const std::string_view candidate : candidates) {
    if (candidate.empty() || candidate.size() > kLongestWord) continue;
    const size_t distance = EditDistance(word, candidate);
    if (distance > AllowedDistance(word, candidate) || distance >= candidate.size()) continue;
    if (!PartsAreNear(word, candidate)) continue;
    if (best.empty() || distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  if (!best.empty() || word.size() < kShortestPrefix) return std::string(best);
  for (const std::string_view candidate : candidates) {
    if (!BeginsWith(candidate, word)) continue;
    if (!best.empty()) return {};
    best = candidate;
  }
  return std::string(best);
}

std::string Question(const std::string& match) { return match.empty() ? "" : "; did you mean '" + match + "'?"; }

}  // namespace

std::string NearestMatch(std::string_view word, std::span<const std::string_view> candidates) {
  return Nearest(word, candidates);
}

std::string NearestMatch(std::string_view word, std::span<const std::string> candidates) {
  return Nearest(word, candidates);
}

std::string DidYouMean(std::string_view word, std::span<const std::string_view> candidates) {
  return Question(Nearest(word, candidates));
}

std::string DidYouMean(std::string_view word, std::span<const std::string> candidates) {
  return Question(Nearest(word, candidates));
}

}  // namespace deputy::host
