#include "base/memory_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/file_size_signal.hpp"

namespace deputy::host {
namespace {

Status NoMemory(uint64_t size, const char* call) {
  return Error(StatusCode::kResourceExhausted, "no shared memory of {} bytes: {}: {}", size, call,
               std::strerror(errno));
}

// `copy` writes a part of the rest and returns its size, or -1.
template <class Copy>
Result<Descriptor> Sealed(uint64_t size, Copy copy) {
  DEPUTY_ASSIGN_OR_RETURN(Descriptor file, UnsealedMemory(0));
  const FileSizeSignalBlock block;
  for (uint64_t done = 0; done < size;) {
    const ssize_t put = copy(file.get(), done);
    if (put == 0) return Error(StatusCode::kUnavailable, "ends after {} of {} bytes", done, size);
    if (put < 0 && (errno == ENOMEM || errno == ENOSPC)) return NoMemory(size, "write");
    if (put < 0 && errno != EINTR)
      return Error(StatusCode::kUnavailable, "cannot be copied into memory: {}", std::strerror(errno));
    if (put > 0) done += static_cast<uint64_t>(put);
  }
  if (fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) != 0)
    return NoMemory(size, "fcntl");
  return file;
}

}  // namespace

Result<Descriptor> SealedCopy(std::span<const uint8_t> bytes) {
  return Sealed(bytes.size(), [&](int to, uint64_t done) { return write(to, &bytes[done], bytes.size() - done); });
}

Result<Descriptor> SealedCopy(int file, uint64_t size) {
  return Sealed(size, [&](int to, uint64_t done) {
    auto from = static_cast<off_t>(done);
    return sendfile(to, file, &from, size - done);
  });
}

Result<Descriptor> UnsealedMemory(uint64_t size) {
  auto file = Descriptor(memfd_create("deputy", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (file.get() < 0) return NoMemory(size, "memfd_create");
  const FileSizeSignalBlock block;
  if (ftruncate(file.get(), static_cast<off_t>(size)) != 0) return NoMemory(size, "ftruncate");
  return file;
}

Result<Descriptor> SealedMemory(uint64_t size) {
  DEPUTY_ASSIGN_OR_RETURN(Descriptor file, UnsealedMemory(size));
  if (fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) return NoMemory(size, "fcntl");
  return file;
}

Result<uint64_t> SharedMemorySize(int file) {
  const int seals = fcntl(file, F_GET_SEALS);
  struct stat about {};
  if (seals < 0 || fstat(file, &about) != 0)
    return Error(StatusCode::kInvalidArgument, "it is not memory of memfd_create: {}", std::strerror(errno));
  // A process that touches pages which another one has cut off ends.
  if ((seals & F_SEAL_SHRINK) == 0)
    return Error(StatusCode::kInvalidArgument, "the memory may become smaller")
        .Advise("make it with MFD_ALLOW_SEALING, and add F_SEAL_SHRINK with fcntl");
  return static_cast<uint64_t>(about.st_size);
}

}  // namespace deputy::host
