#include "isolation/shared_memory.hpp"

#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/memory_file.hpp"

namespace deputy::host {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kMostBytes = uint64_t{1} << 40;

}  // namespace

std::unique_ptr<Mapping> Mapping::Of(int descriptor, uint64_t offset, uint64_t size, bool writable) {
  struct stat about {};
  if (fstat(descriptor, &about) != 0 || about.st_size < 0) return nullptr;
  const auto whole = static_cast<uint64_t>(about.st_size);
  if (size == 0 || offset > whole || size > whole - offset) return nullptr;
  const uint64_t skipped = offset % kPage;
  std::unique_ptr<Mapping> mapping(new Mapping(nullptr, skipped, size));
  void* base = mmap(nullptr, size + skipped, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, descriptor,
                    static_cast<off_t>(offset - skipped));
  if (base == MAP_FAILED) return nullptr;
  mapping->base_ = static_cast<uint8_t*>(base);
  return mapping;
}

Mapping::~Mapping() {
  if (base_ != nullptr) munmap(base_, size_ + skipped_);
}

void SharedRegion::Count(WorkerMemory* memory, uint64_t bytes) {
  if (memory_ != nullptr && counted_ != 0) memory_->Give(counted_);
  memory_ = memory;
  counted_ = bytes;
}

Status SharedRegion::Ensure(uint64_t size, WorkerMemory* memory) {
  if (size <= this->size() && mapping_ != nullptr) return {};
  if (size > kMostBytes) return Error(StatusCode::kResourceExhausted, "no shared memory of {} bytes", size);
  const auto whole_pages = [](uint64_t bytes) { return (bytes + kPage) / kPage * kPage; };
  uint64_t wanted = whole_pages(std::max(size, this->size() + this->size() / 2));
  // The old one counts until there is a new one.
  if (memory != nullptr && !memory->Take(wanted).ok()) {
    wanted = whole_pages(size);
    DEPUTY_RETURN_IF_ERROR(memory->Take(wanted));
  }
  Result<Descriptor> file = SealedMemory(wanted);
  std::unique_ptr<Mapping> mapping = file.ok() ? Mapping::Of(file->get(), 0, wanted, true) : nullptr;
  if (mapping == nullptr) {
    const int error = errno;
    if (memory != nullptr) memory->Give(wanted);
    if (!file.ok()) return file.status();
    return Error(StatusCode::kResourceExhausted, "no shared memory of {} bytes: {}", wanted, std::strerror(error));
  }
  Count(memory, wanted);
  mapping_ = std::move(mapping);
  descriptor_ = *std::move(file);
  given_ = false;
  return {};
}

int SharedRegion::TakeNew() { return std::exchange(given_, true) ? -1 : descriptor_.get(); }

}  // namespace deputy::host
