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
  bool available = true;  // false: planned; refused by name until it works
};

// All words of the argument's type; its value does not matter.
std::span<const Word<Trust>> Words(Trust);
std::span<const Word<AutoUse>> Words(AutoUse);
std::span<const Word<Fallback>> Words(Fallback);
std::span<const Word<OnFailure>> Words(OnFailure);
std::span<const Word<Policy>> Words(Policy);
std::span<const Word<LogLevel>> Words(LogLevel);

// The accepted words, in the order of the list.
template <class E>
std::vector<std::string_view> AvailableWords() {
  std::vector<std::string_view> texts;
  for (const Word<E>& word : Words(E{}))
    if (word.available) texts.push_back(word.text);
  return texts;
}

template <class E>
std::string_view WordFor(E value) {
  for (const Word<E>& word : Words(value))
    if (word.value == value) return word.text;
  return {};
}

}  // namespace deputy::host
