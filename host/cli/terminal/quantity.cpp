#include "cli/terminal/quantity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <string_view>

namespace deputy::cli {
namespace {

struct Unit {
  double size;
  const char* name;
};

// Three significant digits in the largest unit that gives at least 1.
template <size_t N>
std::string Scaled(double value, const std::array<Unit, N>& units) {
  for (const Unit& unit : units) {
    if (value < unit.size && &unit != &units.back()) continue;
    const double scaled = value / unit.size;
    const int digits = scaled < 10 ? 2 : scaled < 100 ? 1 : 0;
    return fmt::format("{:.{}f} {}", scaled, digits, unit.name);
  }
  return {};
}

constexpr std::array<Unit, 4> kTimes{{{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}}};
constexpr std::array<Unit, 4> kCounts{{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}}};
constexpr std::array<Unit, 3> kSizes{{{1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}}};

struct AgeUnit {
  int64_t seconds;
  const char* name;
};
constexpr std::array<AgeUnit, 3> kAges{{{86400, "d"}, {3600, "h"}, {60, "min"}}};

size_t DigitsAt(std::string_view text, size_t begin) {
  size_t end = begin;
  while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
  return end - begin;
}

}  // namespace

std::string DurationText(uint64_t ns) {
  return ns == 0 ? "0" : ns < 1000 ? fmt::format("{} ns", ns) : Scaled(static_cast<double>(ns), kTimes);
}

std::string CountText(uint64_t count) {
  return count < 10000 ? fmt::format("{}", count) : Scaled(static_cast<double>(count), kCounts);
}

std::string ClockText(uint64_t hz) {
  if (hz % 1000000 == 0 || hz >= 100000000) return fmt::format("{} MHz", (hz + 500000) / 1000000);
  return fmt::format("{} Hz", hz);
}

std::string BytesText(uint64_t bytes) {
  return bytes < 1000 ? fmt::format("{} bytes", bytes) : Scaled(static_cast<double>(bytes), kSizes);
}

std::string ShareText(uint64_t part, uint64_t whole) {
  if (whole == 0) return "-";
  return fmt::format("{:.1f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string LevelText(uint32_t level) {
  switch (level) {
    case 0: return "";
    case 1: return "low";
    case 2: return "balanced";
    case 3: return "high";
    case 4: return "extreme";
    default: return fmt::format("level {}", level);
  }
}

Result<std::chrono::nanoseconds> ParseDuration(std::string_view text) {
  constexpr std::array<Unit, 5> kUnits{{{1e3, "us"}, {1e6, "ms"}, {1e9, "s"}, {60e9, "min"}, {3600e9, "h"}}};
  constexpr double kMostNs = 1e18;  // three decades
  constexpr int64_t kMicrosecond = 1000;
  constexpr size_t kMostDecimals = 3;
  const auto units = [&] {
    std::string names;
    for (const Unit& unit : kUnits) names += fmt::format("{}{}", names.empty() ? "" : ", ", unit.name);
    return names;
  };
  const auto refuse = [&](const std::string& why) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("'{}' is not a duration such as 500ms or 1.5s: {}", text, why));
  };
  const size_t whole = DigitsAt(text, 0);
  if (whole == 0) return refuse("it does not begin with a number");
  if (whole > 1 && text[0] == '0') return refuse("numbers have no leading zeros");
  size_t size = whole;
  if (size < text.size() && text[size] == '.') {
    const size_t decimals = DigitsAt(text, size + 1);
    if (decimals == 0 || decimals > kMostDecimals) return refuse("one to three digits must follow the point");
    size += 1 + decimals;
  }
  double number = 0;
  if (std::from_chars(text.data(), text.data() + size, number, std::chars_format::fixed).ec != std::errc())
    return refuse("it is too long");
  const std::string_view name = text.substr(size);
  const auto unit = std::find_if(kUnits.begin(), kUnits.end(), [&](const Unit& known) { return name == known.name; });
  if (unit == kUnits.end())
    return refuse(name.empty() ? fmt::format("the unit is missing ({})", units())
                               : fmt::format("the units are {}", units()));
  const double ns = std::round(number * unit->size);  // exact: three decimals of a microsecond are nanoseconds
  if (ns == 0) return refuse("it must be greater than zero");
  if (ns > kMostNs) return refuse("it is too long");
  const auto count = static_cast<int64_t>(ns);
  if (count % kMicrosecond != 0) return refuse("it is finer than a microsecond");
  return std::chrono::nanoseconds(count);
}

std::string AgeText(std::chrono::seconds age) {
  for (const AgeUnit& unit : kAges)
    if (age.count() >= unit.seconds) return fmt::format("{} {}", age.count() / unit.seconds, unit.name);
  return "now";
}

Result<std::optional<std::chrono::nanoseconds>> ParseTimeout(std::string_view text) {
  std::optional<std::chrono::nanoseconds> timeout;
  if (text.empty()) return timeout;
  Result<std::chrono::nanoseconds> read = ParseDuration(text);
  if (!read.ok()) return Status(read.status().code(), "--timeout: " + read.status().message());
  timeout = *read;
  return timeout;
}

Result<std::chrono::seconds> ParseAge(std::string_view text) {
  constexpr int64_t kMost = int64_t{36500} * 86400;
  const size_t digits = DigitsAt(text, 0);
  int64_t count = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + digits, count);
  const auto unit =
      std::find_if(kAges.begin(), kAges.end(), [&](const AgeUnit& known) { return text.substr(digits) == known.name; });
  if (digits == 0 || unit == kAges.end() || parsed.ec != std::errc() || count == 0 || count > kMost / unit->seconds)
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("the age must be a number with its unit, 1min to 36500d (min, h, d), got '{}'", text));
  return std::chrono::seconds(count * unit->seconds);
}

std::string NumberText(double value) { return fmt::format("{:.4g}", value); }

std::string Plural(uint64_t count, const std::string& one) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

}  // namespace deputy::cli
