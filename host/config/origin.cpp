#include "config/origin.hpp"

#include <fmt/format.h>

#include "config/text.hpp"

namespace deputy::host {

std::string Origin::ToString() const {
  const std::string name = Escaped(source);
  return line > 0 ? fmt::format("{}:{}:{}", name, line, column) : name;
}

}  // namespace deputy::host
