// The words that the YAML uses for each enumeration: the one list that reading, printing and messages share.
#pragma once

#include <span>
#include <string_view>

#include "config/config.hpp"

namespace deputy::host {

template <class E>
struct Word {
  E value;
  std::string_view text;
};

// All words of the argument's type; its value does not matter.
std::span<const Word<Trust>> Words(Trust);
std::span<const Word<AutoUse>> Words(AutoUse);
std::span<const Word<Precision>> Words(Precision);
std::span<const Word<PrecisionMode>> Words(PrecisionMode);
std::span<const Word<Isolation>> Words(Isolation);
std::span<const Word<OnFailure>> Words(OnFailure);
std::span<const Word<Fallback>> Words(Fallback);
std::span<const Word<Policy>> Words(Policy);
std::span<const Word<LogLevel>> Words(LogLevel);
std::span<const Word<LogFormat>> Words(LogFormat);
std::span<const Word<DumpKind>> Words(DumpKind);

template <class E>
std::string_view WordFor(E value) {
  for (const Word<E>& word : Words(value))
    if (word.value == value) return word.text;
  return {};
}

}  // namespace deputy::host
