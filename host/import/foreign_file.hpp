// Recognizes files that are not models, for a better error.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.hpp"

namespace deputy::host {

// An error such as "is a zip archive, not a model" for bytes that begin like a well-known kind of file; OK for all
// others. The first 256 bytes are enough. [any-thread]
Status RefuseForeignFile(std::span<const uint8_t> bytes);

}  // namespace deputy::host
