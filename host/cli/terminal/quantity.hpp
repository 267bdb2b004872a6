// Numbers as text: times, counts, clocks, shares.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "deputy/status.hpp"

namespace deputy::cli {

std::string DurationText(uint64_t ns);                       // "1.23 ms"
std::string CountText(uint64_t count);                       // "105.2 M"; exact below 10,000
std::string ClockText(uint64_t hz);                          // "800 MHz"
std::string BytesText(uint64_t bytes);                       // "1.2 MB"
std::string ShareText(uint64_t part, uint64_t whole);        // "93.1 %"; "-" of zero
std::string LevelText(uint32_t level);                       // "high"; "" for 0
std::string NumberText(double value);                        // four significant digits
std::string AgeText(std::chrono::seconds age);               // "now", "5 min", "3 h", "12 d"
std::string Plural(uint64_t count, const std::string& one);  // "1 node", "3 nodes"

// "500ms", "1.5s": greater than zero, in the form and with the units of config/scalar.cpp, which is not public.
Result<std::chrono::nanoseconds> ParseDuration(std::string_view text);
// The value of --timeout; none where the text is empty.
Result<std::optional<std::chrono::nanoseconds>> ParseTimeout(std::string_view text);
// "30d", "12h", "45min": a whole number, greater than zero.
Result<std::chrono::seconds> ParseAge(std::string_view text);

}  // namespace deputy::cli
