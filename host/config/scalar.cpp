#include "config/scalar.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>
#include <vector>

#include "base/checked.hpp"
#include "base/nearest.hpp"
#include "config/origin.hpp"

namespace deputy::host {
namespace {

struct Unit {
  std::string_view name;
  int64_t factor;
};

constexpr std::array<Unit, 5> kDurationUnits = {
    {{"us", 1}, {"ms", 1000}, {"s", 1000000}, {"min", 60000000}, {"h", 3600000000}}};

constexpr std::array<Unit, 9> kSizeUnits = {{{"B", 1},
                                             {"kB", 1000},
                                             {"MB", 1000000},
                                             {"GB", 1000000000},
                                             {"TB", 1000000000000},
                                             {"KiB", int64_t{1} << 10},
                                             {"MiB", int64_t{1} << 20},
                                             {"GiB", int64_t{1} << 30},
                                             {"TiB", int64_t{1} << 40}}};

constexpr std::array<Unit, 1> kPercentUnits = {{{"%", 1}}};
constexpr std::array<Unit, 4> kFrequencyUnits = {{{"Hz", 1}, {"kHz", 1000}, {"MHz", 1000000}, {"GHz", 1000000000}}};

constexpr size_t kMostDecimals = 3;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

Status Wrong(std::string reason) { return Status(StatusCode::kInvalidArgument, std::move(reason)); }

std::string_view TakeDigits(std::string_view& text) {
  const size_t count = static_cast<size_t>(std::find_if_not(text.begin(), text.end(), IsDigit) - text.begin());
  const std::string_view digits = text.substr(0, count);
  text.remove_prefix(count);
  return digits;
}

Status CheckDigits(std::string_view digits) {
  if (digits.empty()) return Wrong("that is not a number");
  if (digits.size() > 1 && digits[0] == '0') return Wrong("numbers have no leading zeros");
  return {};
}

Result<int64_t> ToInteger(std::string_view text) {
  int64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec == std::errc::result_out_of_range) return Wrong("that does not fit 64 bits");
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) return Wrong("that is not a whole number");
  return value;
}

Result<int64_t> ParseQuantity(std::string_view text, std::span<const Unit> units) {
  if (!text.empty() && text[0] == '-') return Wrong("that is negative");
  std::string_view rest = text;
  const std::string_view whole = TakeDigits(rest);
  DEPUTY_RETURN_IF_ERROR(CheckDigits(whole));
  std::string_view decimals;
  if (!rest.empty() && rest[0] == '.') {
    rest.remove_prefix(1);
    decimals = TakeDigits(rest);
    if (decimals.empty()) return Wrong("there are no digits after the point");
    if (decimals.size() > kMostDecimals) return Wrong("there are more than three decimals");
  }
  if (rest.empty()) return Wrong("the unit is missing");
  if (rest[0] == ' ') return Wrong("there is a space before the unit");

  const auto unit = std::find_if(units.begin(), units.end(), [&](const Unit& known) { return known.name == rest; });
  if (unit == units.end()) {
    std::vector<std::string_view> names;
    for (const Unit& known : units) names.push_back(known.name);
    return Wrong("there is no unit " + Quoted(rest) + DidYouMean(rest, names));
  }
  DEPUTY_ASSIGN_OR_RETURN(const int64_t count, ToInteger(whole));
  auto value = CheckedMultiply(count, unit->factor);
  if (value && !decimals.empty()) {
    int64_t scale = 1;
    for (size_t i = 0; i < decimals.size(); ++i) scale *= 10;
    DEPUTY_ASSIGN_OR_RETURN(const int64_t part, ToInteger(decimals));
    // At most 999 * 2^40: fits.
    if (part * unit->factor % scale != 0) return Wrong("that is not a multiple of 1 " + std::string(units[0].name));
    value = CheckedAdd(*value, part * unit->factor / scale);
  }
  if (!value) return Wrong("that does not fit 64 bits");
  return *value;
}

std::string Format(int64_t value, std::span<const Unit> units) {
  const Unit* best = &units[0];
  for (const Unit& unit : units)
    if (value != 0 && value % unit.factor == 0 && unit.factor > best->factor) best = &unit;
  return std::to_string(value / best->factor) + std::string(best->name);
}

std::string Joined(std::span<const Unit> units) {
  std::string all;
  for (const Unit& unit : units) all += (all.empty() ? "" : ", ") + std::string(unit.name);
  return all;
}

}  // namespace

Result<bool> ParseBool(std::string_view text) {
  if (text == "true") return true;
  if (text == "false") return false;
  constexpr std::array<std::string_view, 4> kYes = {"yes", "on", "True", "TRUE"};
  constexpr std::array<std::string_view, 4> kNo = {"no", "off", "False", "FALSE"};
  if (std::find(kYes.begin(), kYes.end(), text) != kYes.end()) return Wrong("write true");
  if (std::find(kNo.begin(), kNo.end(), text) != kNo.end()) return Wrong("write false");
  return Wrong("that is not a boolean");
}

Result<int64_t> ParseInteger(std::string_view text) {
  std::string_view rest = text;
  if (!rest.empty() && rest[0] == '-') rest.remove_prefix(1);
  std::string_view tail = rest;
  const std::string_view digits = TakeDigits(tail);
  DEPUTY_RETURN_IF_ERROR(CheckDigits(digits));
  if (!tail.empty()) return Wrong("that is not a whole decimal number");
  if (rest.size() != text.size() && digits == "0") return Wrong("write 0");
  return ToInteger(text);
}

Result<double> ParseReal(std::string_view text) {
  std::string_view rest = text;
  if (!rest.empty() && rest[0] == '-') rest.remove_prefix(1);
  DEPUTY_RETURN_IF_ERROR(CheckDigits(TakeDigits(rest)));
  if (!rest.empty() && rest[0] == '.') {
    rest.remove_prefix(1);
    if (TakeDigits(rest).empty()) return Wrong("there are no digits after the point");
  }
  if (!rest.empty() && (rest[0] == 'e' || rest[0] == 'E')) {
    rest.remove_prefix(1);
    if (!rest.empty() && (rest[0] == '-' || rest[0] == '+')) rest.remove_prefix(1);
    if (TakeDigits(rest).empty()) return Wrong("there are no digits in the exponent");
  }
  if (!rest.empty()) return Wrong("that is not a decimal number");
  double value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || !std::isfinite(value)) return Wrong("that does not fit a double");
  return value;
}

Result<Duration> ParseDuration(std::string_view text) {
  DEPUTY_ASSIGN_OR_RETURN(const int64_t count, ParseQuantity(text, kDurationUnits));
  return Duration(count);
}

Result<Bytes> ParseSize(std::string_view text) {
  DEPUTY_ASSIGN_OR_RETURN(const int64_t count, ParseQuantity(text, kSizeUnits));
  return Bytes{count};
}

Result<Percent> ParsePercent(std::string_view text) {
  DEPUTY_ASSIGN_OR_RETURN(const int64_t count, ParseQuantity(text, kPercentUnits));
  return Percent{count};
}

Result<int64_t> ParseFrequency(std::string_view text) { return ParseQuantity(text, kFrequencyUnits); }

std::string FormatDuration(Duration duration) { return Format(duration.count(), kDurationUnits); }

std::string FormatSize(Bytes size) { return Format(size.count, kSizeUnits); }

std::string FormatPercent(Percent percent) { return Format(percent.count, kPercentUnits); }

std::string DurationUnits() { return Joined(kDurationUnits); }

std::string SizeUnits() { return Joined(kSizeUnits); }

bool IsNullWord(std::string_view text) {
  return text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL";
}

bool IsPlainScalar(std::string_view text) {
  if (text.empty() || text.front() == ' ' || text.back() == ' ' || text.back() == ':') return false;
  constexpr std::string_view kNeverFirst = ",[]{}#&*!|>'\"%@`";
  constexpr std::string_view kFirstBeforeText = "-?:";
  if (kNeverFirst.find(text[0]) != std::string_view::npos) return false;
  if (kFirstBeforeText.find(text[0]) != std::string_view::npos && (text.size() == 1 || text[1] == ' ')) return false;
  if (text.find(": ") != std::string_view::npos || text.find(" #") != std::string_view::npos) return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 && byte != 0x7f;
  });
}

bool IsName(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.' || c == '-';
  });
}

}  // namespace deputy::host
