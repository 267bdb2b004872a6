#include "cli/graph/delegate_colour.hpp"

#include <fmt/format.h>

#include <array>

namespace deputy::cli {

std::string DelegateColour(size_t index, size_t count) {
  constexpr std::array kColours = {"#3b78c2", "#d9822b", "#2f9e6e", "#8b5fbf",
                                   "#d1495b", "#2aa7c9", "#b8a01e", "#c2629f"};
  return index + 1 == count ? "#7b828c" : kColours[index % kColours.size()];
}

std::string PaleColour(const std::string& colour) {
  std::string pale = "#";
  for (size_t channel = 0; channel < 3; ++channel) {
    const unsigned long value = std::stoul(colour.substr(1 + 2 * channel, 2), nullptr, 16);
    pale += fmt::format("{:02x}", 255 - (255 - value) * 3 / 10);
  }
  return pale;
}

}  // namespace deputy::cli
