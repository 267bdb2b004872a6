// Functions of deputy/printable.hpp for programs, on the C API.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "deputy.h"
#include "deputy/detail/report_reader.hpp"
#include "deputy/printable.hpp"

namespace deputy {

inline std::string Printable(std::string_view text, size_t limit) {
  return detail::ReportedAlways<std::string>(
      [&](DeputyReport** made) { return DeputyPrintable(text.data(), text.size(), limit, made); });
}

inline std::string DidYouMean(std::string_view word, std::span<const std::string> candidates) {
  const std::string wanted(word);
  std::vector<const char*> names;
  for (const std::string& candidate : candidates) names.push_back(candidate.c_str());
  return detail::ReportedAlways<std::string>(
      [&](DeputyReport** made) { return DeputyDidYouMean(wanted.c_str(), names.data(), names.size(), made); });
}

}  // namespace deputy
