#include "plugin/discovery/plugin_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/trust.hpp"

namespace deputy::host {
namespace {

Checked<FileIdentity> FromStat(const struct stat& info) {
  if (!S_ISREG(info.st_mode)) return Rejection{RejectReason::kNotAFile, std::string("is ") + KindOfFile(info.st_mode)};
  FileIdentity identity;
  identity.device = info.st_dev;
  identity.inode = info.st_ino;
  identity.size = static_cast<uint64_t>(info.st_size);
  identity.modified_ns = info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec;
  identity.changed_ns = info.st_ctim.tv_sec * 1000000000 + info.st_ctim.tv_nsec;
  return identity;
}

}  // namespace

Rejection RejectionOfErrno(int error) {
  if (error == ENOENT || error == ENOTDIR) return {RejectReason::kMissing, "does not exist"};
  return {RejectReason::kUnreadable, std::string("cannot be read: ") + std::strerror(error)};
}

bool MemorySource::Read(uint64_t offset, void* out, size_t count) const {
  if (count > bytes_.size() || offset > bytes_.size() - count) return false;
  if (count != 0) std::memcpy(out, bytes_.data() + offset, count);
  return true;
}

Checked<FileIdentity> IdentityOf(const std::filesystem::path& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return RejectionOfErrno(errno);
  return FromStat(info);
}

Checked<std::unique_ptr<PluginFile>> PluginFile::Open(const std::filesystem::path& path) {
  Descriptor opened(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (opened.get() < 0) {
    // A socket cannot be opened; stat tells its kind.
    const int error = errno;
    const Checked<FileIdentity> identity = IdentityOf(path);
    if (const Rejection* rejection = RejectionOf(identity)) return *rejection;
    return RejectionOfErrno(error);
  }
  return Of(std::move(opened));
}

Checked<std::unique_ptr<PluginFile>> PluginFile::Of(Descriptor opened) {
  std::unique_ptr<PluginFile> file(new PluginFile(std::move(opened)));
  struct stat info {};
  if (fstat(file->file_.get(), &info) != 0) return RejectionOfErrno(errno);
  DEPUTY_ASSIGN_OR_REJECT(file->identity_, FromStat(info));
  return file;
}

std::string PluginFile::Distrust() const {
  struct stat about {};
  if (fstat(file_.get(), &about) != 0) return std::string("its owner is not known: ") + std::strerror(errno);
  return ReasonForDistrust(about, file_.get());
}

bool PluginFile::Read(uint64_t offset, void* out, size_t count) const {
  if (count > identity_.size || offset > identity_.size - count) return false;
  auto* target = static_cast<uint8_t*>(out);
  while (count != 0) {
    const ssize_t got = pread(file_.get(), target, count, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) read_error_ = errno;
    if (got <= 0) return false;
    target += got;
    offset += static_cast<uint64_t>(got);
    count -= static_cast<size_t>(got);
  }
  return true;
}

}  // namespace deputy::host
