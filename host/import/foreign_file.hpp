// What a file that is no model looks like, so that the error can say so.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.hpp"

namespace deputy::host {

// An error such as "is a zip archive, not a model" for what begins like a well-known kind of file; OK for all else. The
// first 256 bytes are enough. [any-thread]
Status RefuseForeignFile(std::span<const uint8_t> bytes);

}  // namespace deputy::host
