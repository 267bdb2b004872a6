// Memory aligned to cache lines, which are also as wide as the widest vectors, of a size that a model may choose.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

namespace deputy::host {

inline constexpr size_t kAlignment = 64;

constexpr size_t AlignUp(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

struct FreeBytes {
  void operator()(uint8_t* bytes) const { std::free(bytes); }
};
using AlignedBytes = std::unique_ptr<uint8_t, FreeBytes>;

// AlignUp(bytes + 1) bytes, so that an allocation of 0 bytes is not null; null when out of memory.
inline AlignedBytes AllocateAligned(size_t bytes) {
  if (bytes > SIZE_MAX - kAlignment) return nullptr;
  return AlignedBytes(static_cast<uint8_t*>(std::aligned_alloc(kAlignment, AlignUp(bytes + 1))));
}

// Bytes of memory that this machine has; the system may end the process when it touches more, even if promised.
size_t MachineMemory();

// AllocateAligned; also null for more than the machine has.
AlignedBytes AllocateWithinMachine(size_t bytes);

// The same with all bytes zero. A large block gets its pages from the system when they are first touched, so that a run
// which ends early has not written all of it.
std::shared_ptr<uint8_t> AllocateZeros(size_t bytes);

// Where the memory of arenas comes from if not from the heap, such as memory shared with another process.
class ArenaSource {
 public:
  virtual ~ArenaSource() = default;
  // `bytes` bytes aligned to kAlignment, which may outlive the source; null where there is no memory. Not null for 0
  // bytes. [any-thread]
  virtual std::shared_ptr<uint8_t> Allocate(size_t bytes) = 0;
};

}  // namespace deputy::host
