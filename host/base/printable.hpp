// Text from files and plugins, made fit for a message: names may be a megabyte long or hold terminal escapes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.hpp"

namespace deputy::host {

// Control characters and invalid UTF-8 as \xNN, and "..." in place of what exceeds `limit` bytes. [any-thread]
std::string Printable(std::string_view text, size_t limit = 120);

// The same for everything that a status says.
Status Printable(const Status& status, size_t limit = 2000);

}  // namespace deputy::host
