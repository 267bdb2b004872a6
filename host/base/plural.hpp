// Counted nouns of messages.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace deputy::host {

// "1 node", "3 nodes".
inline std::string Plural(size_t count, std::string_view one) {
  return std::to_string(count) + " " + std::string(one) + (count == 1 ? "" : "s");
}

}  // namespace deputy::host
