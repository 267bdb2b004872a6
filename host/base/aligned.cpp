#include "base/aligned.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

namespace deputy::host {

size_t MachineMemory() {
  static const size_t bytes = [] {
    const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? static_cast<size_t>(pages) * static_cast<size_t>(size) : SIZE_MAX;
  }();
  return bytes;
}

AlignedBytes AllocateWithinMachine(size_t bytes) { return bytes > MachineMemory() ? nullptr : AllocateAligned(bytes); }

std::shared_ptr<uint8_t> AllocateZeros(size_t bytes) {
  constexpr size_t kLarge = size_t{32} << 20;  // the C library maps blocks of this size as well, and unmaps them
  if (bytes <= kLarge) {
    AlignedBytes memory = AllocateWithinMachine(bytes);
    if (memory != nullptr) std::memset(memory.get(), 0, AlignUp(bytes + 1));
    return memory;
  }
  if (bytes > MachineMemory()) return nullptr;
  void* const mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  return {static_cast<uint8_t*>(mapped), [bytes](uint8_t* memory) { munmap(memory, bytes); }};
}

}  // namespace deputy::host
