#include "base/aligned.hpp"

#include <unistd.h>

namespace deputy::host {

size_t MachineMemory() {
  static const size_t bytes = [] {
    const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? static_cast<size_t>(pages) * static_cast<size_t>(size) : SIZE_MAX;
  }();
  return bytes;
}

AlignedBytes AllocateWithinMachine(size_t bytes) { return bytes > MachineMemory() ? nullptr : AllocateAligned(bytes); }

}  // namespace deputy::host
