// Memory of a device, in which inputs and outputs of runs can stay (ext/draft/memory.h).
#pragma once

#include <cstdint>

#include "deputy/abi/ext/draft/memory.h"

namespace deputy::sdk {

// Where a tensor of a run should be. In memory of the device it is TensorView::is_on_device().
struct MemoryWish {
  bool on_device = false;
  uint64_t byte_size = 0;   // of the buffer, where the device needs more than the elements; 0: those
  uint64_t alignment = 64;  // of its first byte, a power of two
};

struct BufferRequest {
  uint64_t byte_size = 0, alignment = 64;
  uint32_t uses = 0;  // DEPUTY_BUFFER_...
};

// Memory of memfd_create that others have as well, sealed against becoming smaller.
struct SharedMemory {
  int descriptor = -1;  // the host's, of the call: a delegate maps it, or keeps a duplicate
  uint64_t offset = 0, byte_size = 0;
};

// One side of a copy: host memory, or bytes of a buffer.
struct CopySide {
  void* data = nullptr;  // host memory; null: the buffer
  uint64_t handle = 0, offset = 0;
};

}  // namespace deputy::sdk
