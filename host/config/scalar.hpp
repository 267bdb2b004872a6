// The grammar of single values: integers, reals, booleans, durations, sizes and frequencies. The configuration's own
// keys and the options of plugins are read with the same functions, so that a value means the same everywhere.
//
// Numbers are decimal, without leading zeros ("017" is refused: YAML 1.1 reads it as 15), without '+', '_' or hex, and
// never NaN or infinite. Quantities are digits, at most three decimals and a unit, without a space: "2s", "1.5GB".
// Errors are kInvalidArgument with half a sentence that follows "'x' must be ...". [any-thread]
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.hpp"

namespace deputy::host {

using Duration = std::chrono::microseconds;
// The value of a key whose duration the host chooses.
inline constexpr Duration kAutomatic{-1};

struct Bytes {
  int64_t count = 0;
  friend bool operator==(Bytes a, Bytes b) { return a.count == b.count; }
};

struct Percent {
  int64_t count = 0;
  double share() const { return static_cast<double>(count) / 100; }
  friend bool operator==(Percent a, Percent b) { return a.count == b.count; }
};

Result<bool> ParseBool(std::string_view text);
Result<int64_t> ParseInteger(std::string_view text);
Result<double> ParseReal(std::string_view text);
Result<Duration> ParseDuration(std::string_view text);  // us, ms, s, min, h
Result<Bytes> ParseSize(std::string_view text);         // B, kB, MB, GB, TB (powers of 1000), KiB to TiB (of 1024)
Result<Percent> ParsePercent(std::string_view text);    // %, whole
Result<int64_t> ParseFrequency(std::string_view text);  // Hz, kHz, MHz, GHz; in hertz

// In the largest unit that leaves a whole number: reads back as the same value.
std::string FormatDuration(Duration duration);
std::string FormatSize(Bytes size);
std::string FormatPercent(Percent percent);

// "us, ms, s, min, h" and "B, kB, MB, ...": for messages.
std::string DurationUnits();
std::string SizeUnits();

// The texts that YAML reads as null when they are not quoted: "", ~, null.
bool IsNullWord(std::string_view text);
// True for a text that a block of YAML can hold without quotes and that reads back unchanged.
bool IsPlainScalar(std::string_view text);
// Names of delegates, plugins and options: [A-Za-z0-9_.-]+.
bool IsName(std::string_view text);

}  // namespace deputy::host
