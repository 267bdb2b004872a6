// What a target is: a check of one input, and a mutator that knows the format. Each target is one source that defines
// the two functions; fuzzer.cpp gives them to libFuzzer, replay.cpp runs them over files in ordinary builds.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "fuzz/bytes.hpp"
#include "fuzz/random.hpp"

namespace deputy::fuzz {

// Feeds the bytes to the host. Ends the process, with a message, where a promise of the host is broken.
void CheckInput(std::span<const uint8_t> input);

// Changes the input, mostly so that it stays well-formed enough to pass the first checks of its reader.
void MutateInput(Bytes& input, Random& random);

// Ends the process as a finding of the fuzzer.
[[noreturn]] void Fail(std::string_view promise, std::string_view detail = {});

inline void Require(bool holds, std::string_view promise, std::string_view detail = {}) {
  if (!holds) Fail(promise, detail);
}

}  // namespace deputy::fuzz
