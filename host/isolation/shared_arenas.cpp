#include "isolation/shared_arenas.hpp"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/log.hpp"
#include "base/memory_file.hpp"
#include "isolation/shared_memory.hpp"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010  // Linux 5.1
#endif

namespace deputy::host {
namespace {

// Mapped for writing here, and sealed against all other writing. Null, with errno, where that is not possible.
uint8_t* MapOwn(int descriptor, size_t size) {
  void* const data = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (data == MAP_FAILED) return nullptr;
  if (fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) == 0)
    return static_cast<uint8_t*>(data);
  const int error = errno;
  munmap(data, size);
  errno = error;
  return nullptr;
}

}  // namespace

std::shared_ptr<uint8_t> SharedArenas::Allocate(size_t bytes) {
  if (bytes >= MachineMemory()) return nullptr;
  const size_t size = AlignUp(bytes + 1);
  Result<Descriptor> file = UnsealedMemory(size);
  const auto descriptor = std::make_shared<const Descriptor>(file.ok() ? *std::move(file) : Descriptor());
  const auto unmap = [size](uint8_t* mapped) { munmap(mapped, size); };
  std::unique_ptr<uint8_t, decltype(unmap)> mapped(file.ok() ? MapOwn(descriptor->get(), size) : nullptr, unmap);
  uint8_t* const data = mapped.get();
  if (data == nullptr) {
    Log(LogLevel::kWarning, "{} bytes cannot be shared with worker processes ({}), which get copies", bytes,
        file.ok() ? std::strerror(errno) : file.status().message());
    AlignedBytes own = AllocateAligned(bytes);
    if (own != nullptr) std::memset(own.get(), 0, size);
    return own;
  }
  {
    const std::unique_lock lock(mutex_);
    regions_[data] = {++last_id_, size, descriptor};
    mapped.release();
    generation_.fetch_add(1, std::memory_order_release);
  }
  return {data, [arenas = shared_from_this()](uint8_t* freed) { arenas->Free(freed); }};
}

void SharedArenas::Free(uint8_t* data) {
  Region region;
  {
    const std::unique_lock lock(mutex_);
    const auto found = regions_.find(data);
    region = std::move(found->second);
    regions_.erase(found);
    generation_.fetch_add(1, std::memory_order_release);
  }
  munmap(data, region.size);
  const std::lock_guard lock(users_mutex_);
  for (SharedArenaUser* user : users_) user->Freed(region.id);
}

std::optional<SharedArenas::Found> SharedArenas::Find(const void* data, uint64_t size) const {
  const auto* begin = static_cast<const uint8_t*>(data);
  const std::shared_lock lock(mutex_);
  auto after = regions_.upper_bound(begin);
  if (after == regions_.begin()) return std::nullopt;
  const auto& [base, region] = *--after;
  const auto offset = static_cast<uint64_t>(begin - base);
  if (offset > region.size || size > region.size - offset) return std::nullopt;
  return Found{region, offset};
}

void SharedArenas::Add(SharedArenaUser& user) {
  const std::lock_guard lock(users_mutex_);
  users_.push_back(&user);
}

void SharedArenas::Remove(SharedArenaUser& user) {
  const std::lock_guard lock(users_mutex_);
  std::erase(users_, &user);
}

}  // namespace deputy::host
