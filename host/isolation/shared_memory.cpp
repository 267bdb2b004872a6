#include "isolation/shared_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/file_size_signal.hpp"

namespace deputy::host {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kMostBytes = uint64_t{1} << 40;

Status NoMemory(uint64_t size) {
  return Error(StatusCode::kResourceExhausted, "no shared memory of {} bytes: {}", size, std::strerror(errno));
}

}  // namespace

Result<std::unique_ptr<Descriptor>> UnsealedMemory(uint64_t size) {
  auto file = std::make_unique<Descriptor>(memfd_create("deputy", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (file->get() < 0) return NoMemory(size);
  const FileSizeSignalBlock block;
  if (ftruncate(file->get(), static_cast<off_t>(size)) != 0) return NoMemory(size);
  return file;
}

std::unique_ptr<Mapping> Mapping::Of(int descriptor, uint64_t offset, uint64_t size, bool writable) {
  struct stat about {};
  if (fstat(descriptor, &about) != 0 || about.st_size < 0) return nullptr;
  const auto whole = static_cast<uint64_t>(about.st_size);
  if (size == 0 || offset > whole || size > whole - offset) return nullptr;
  const uint64_t skipped = offset % kPage;
  void* base = mmap(nullptr, size + skipped, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, descriptor,
                    static_cast<off_t>(offset - skipped));
  if (base == MAP_FAILED) return nullptr;
  return std::unique_ptr<Mapping>(new Mapping(static_cast<uint8_t*>(base), skipped, size));
}

Mapping::~Mapping() { munmap(base_, size_ + skipped_); }

Result<std::unique_ptr<Descriptor>> SealedCopy(std::span<const uint8_t> bytes) {
  DEPUTY_ASSIGN_OR_RETURN(std::unique_ptr<Descriptor> file, UnsealedMemory(0));
  const FileSizeSignalBlock block;
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t put = write(file->get(), bytes.data() + done, bytes.size() - done);
    if (put < 0 && errno != EINTR) return NoMemory(bytes.size());
    if (put > 0) done += static_cast<size_t>(put);
  }
  if (fcntl(file->get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) != 0)
    return NoMemory(bytes.size());
  return file;
}

Result<std::unique_ptr<Descriptor>> SealedMemory(uint64_t size) {
  DEPUTY_ASSIGN_OR_RETURN(std::unique_ptr<Descriptor> file, UnsealedMemory(size));
  if (fcntl(file->get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) return NoMemory(size);
  return file;
}

Status SharedRegion::Ensure(uint64_t size) {
  if (size <= this->size() && mapping_ != nullptr) return {};
  if (size > kMostBytes) return Error(StatusCode::kResourceExhausted, "no shared memory of {} bytes", size);
  const uint64_t wanted = (std::max(size, this->size() + this->size() / 2) + kPage) / kPage * kPage;
  DEPUTY_ASSIGN_OR_RETURN(std::unique_ptr<Descriptor> file, SealedMemory(wanted));
  std::unique_ptr<Mapping> mapping = Mapping::Of(file->get(), 0, wanted, true);
  if (mapping == nullptr) return NoMemory(wanted);
  mapping_ = std::move(mapping);
  descriptor_ = std::move(file);
  given_ = false;
  return {};
}

int SharedRegion::TakeNew() { return std::exchange(given_, true) || descriptor_ == nullptr ? -1 : descriptor_->get(); }

}  // namespace deputy::host
