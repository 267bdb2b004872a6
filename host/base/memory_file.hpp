// Files in memory, without a name: to be mapped, passed to other processes, and sealed against changes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/file.hpp"
#include "base/status.hpp"

namespace deputy::host {

// kResourceExhausted where there is no memory. [any-thread]

// With these bytes, sealed against every change.
Result<Descriptor> SealedCopy(std::span<const uint8_t> bytes);
// With the first `size` bytes of an open file. kUnavailable when they cannot be read, or the file ends before.
Result<Descriptor> SealedCopy(int file, uint64_t size);
// Zeros, without a seal.
Result<Descriptor> UnsealedMemory(uint64_t size);
// Zeros, sealed against resizing.
Result<Descriptor> SealedMemory(uint64_t size);
// Bytes of a file that others have as well, which do not become fewer. kInvalidArgument for one that is no memory, and
// where they may.
Result<uint64_t> SharedMemorySize(int file);

}  // namespace deputy::host
