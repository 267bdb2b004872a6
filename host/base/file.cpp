#include "base/file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "base/memory_file.hpp"

namespace deputy::host {
namespace {

// O_NONBLOCK so that opening a pipe without a writer returns at once; it has no effect on regular files.
Result<size_t> OpenRegular(const std::filesystem::path& path, int fd) {
  if (fd < 0) {
    const int error = errno;
    const StatusCode code = error == ENOENT || error == ENOTDIR ? StatusCode::kNotFound : StatusCode::kUnavailable;
    return Error(code, "cannot open: {}", std::strerror(error)).At(path.string());
  }
  struct stat info {};
  if (fstat(fd, &info) != 0) return Error(StatusCode::kUnavailable, "{}", std::strerror(errno)).At(path.string());
  if (!S_ISREG(info.st_mode))
    return Error(StatusCode::kInvalidArgument, "is {}, not a file", KindOfFile(info.st_mode)).At(path.string());
  return static_cast<size_t>(info.st_size);
}

}  // namespace

Result<std::shared_ptr<const MappedFile>> MappedFile::Open(const std::filesystem::path& path, FileAccess access) {
  Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  DEPUTY_RETURN_IF_ERROR(OpenRegular(path, file.get()).status());
  Result<std::shared_ptr<const MappedFile>> mapped = Of(file, access);
  if (mapped.ok()) return mapped;
  return std::move(mapped).status().At(path.string());
}

Result<std::shared_ptr<const MappedFile>> MappedFile::Of(Descriptor& file, FileAccess access) {
  struct stat about {};
  if (fstat(file.get(), &about) != 0) return Error(StatusCode::kUnavailable, "{}", std::strerror(errno));
  const auto size = static_cast<size_t>(about.st_size);
  if (size == 0) return std::shared_ptr<const MappedFile>(new MappedFile(nullptr, 0, file.Release()));
  if (access == FileAccess::kCopied) {
    DEPUTY_ASSIGN_OR_RETURN(const std::unique_ptr<Descriptor> copy, SealedCopy(file.get(), size));
    file.Replace(copy->Release());
  }
  void* data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (data == MAP_FAILED)
    return Error(StatusCode::kResourceExhausted, "cannot map {} bytes: {}", size, std::strerror(errno));
  return std::shared_ptr<const MappedFile>(new MappedFile(static_cast<const uint8_t*>(data), size, file.Release()));
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(const_cast<uint8_t*>(data_), size_);
  close(descriptor_);
}

void MappedFile::DropPages() const { host::DropPages(bytes()); }

void DropPages(std::span<const uint8_t> mapped) {
  static const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<uintptr_t>(mapped.data()) + page - 1) / page * page;
  const auto end = reinterpret_cast<uintptr_t>(mapped.data() + mapped.size()) / page * page;
  // The result is ignored: failure costs only memory, since the mapping is read-only and its pages can be read again.
  if (begin < end) (void)madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

bool ReadAt(int descriptor, uint64_t offset, std::span<uint8_t> to) {
  while (!to.empty()) {
    const ssize_t got = pread(descriptor, to.data(), to.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    offset += static_cast<uint64_t>(got);
    to = to.subspan(static_cast<size_t>(got));
  }
  return true;
}

Result<std::string> ReadTextFile(const std::filesystem::path& path, size_t limit) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  DEPUTY_ASSIGN_OR_RETURN(const size_t size, OpenRegular(path, file.get()));
  if (size > limit)
    return Error(StatusCode::kResourceExhausted, "is {} bytes, more than the limit of {}", size, limit)
        .At(path.string());
  std::string text(size, '\0');
  size_t done = 0;
  while (done < size) {
    const ssize_t got = read(file.get(), text.data() + done, size - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Error(StatusCode::kUnavailable, "cannot read: {}", std::strerror(errno)).At(path.string());
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  text.resize(done);
  return text;
}

}  // namespace deputy::host
