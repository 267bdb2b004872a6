#include "base/file.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>
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
  Result<std::shared_ptr<const MappedFile>> mapped = Of(std::move(file), access);
  if (mapped.ok()) return mapped;
  return std::move(mapped).status().At(path.string());
}

Result<std::shared_ptr<const MappedFile>> MappedFile::Of(Descriptor file, FileAccess access) {
  struct stat about {};
  if (fstat(file.get(), &about) != 0) return Error(StatusCode::kUnavailable, "{}", std::strerror(errno));
  const auto size = static_cast<size_t>(about.st_size);
  std::shared_ptr<MappedFile> mapped(new MappedFile);
  if (access == FileAccess::kCopied && size != 0) {
    DEPUTY_ASSIGN_OR_RETURN(Descriptor copy, SealedCopy(file.get(), size));
    file = std::move(copy);
  }
  void* data = size == 0 ? nullptr : mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (data == MAP_FAILED)
    return Error(StatusCode::kResourceExhausted, "cannot map {} bytes: {}", size, std::strerror(errno));
  mapped->data_ = static_cast<const uint8_t*>(data);
  mapped->size_ = size;
  mapped->descriptor_ = std::move(file);
  return std::shared_ptr<const MappedFile>(std::move(mapped));
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(const_cast<uint8_t*>(data_), size_);
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

std::vector<std::filesystem::path> PathsIn(const std::filesystem::path& folder, std::error_code& error) {
  std::vector<std::filesystem::path> paths;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(folder.c_str()), closedir);
  errno = open == nullptr ? errno : 0;
  while (const dirent* entry = open == nullptr ? nullptr : readdir(open.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") paths.push_back(folder / name);
    errno = 0;
  }
  error.assign(errno, std::generic_category());
  std::sort(paths.begin(), paths.end());
  return paths;
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
