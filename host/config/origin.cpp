#include "config/origin.hpp"

#include <fmt/format.h>

#include <cstdint>

#include "base/printable.hpp"

namespace deputy::host {

std::string Origin::ToString() const {
  const std::string name = Printable(source, SIZE_MAX);
  return line > 0 ? fmt::format("{}:{}:{}", name, line, column) : name;
}

std::string Quoted(std::string_view text) { return "'" + Printable(text, 60) + "'"; }

}  // namespace deputy::host
