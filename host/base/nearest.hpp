// "Did you mean": the candidate nearest to an unknown word. For keys, options, operators, delegates and every other
// closed list of names that people type.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace deputy::host {

// The candidate within an edit distance of a third of the word's length (a swap of neighbours is one edit, case costs
// nothing), or the only candidate that begins with the word; empty if there is none. The first of equals wins.
// [any-thread]
std::string NearestMatch(std::string_view word, std::span<const std::string_view> candidates);
std::string NearestMatch(std::string_view word, std::span<const std::string> candidates);

// "; did you mean 'frequency'?", or nothing: a suffix of a message.
std::string DidYouMean(std::string_view word, std::span<const std::string_view> candidates);
std::string DidYouMean(std::string_view word, std::span<const std::string> candidates);

}  // namespace deputy::host
