#include "plan/blob_cache.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>
#include <vector>

#include "base/aligned.hpp"
#include "base/descriptor.hpp"
#include "base/file.hpp"
#include "base/log.hpp"

namespace deputy::host {
namespace {

namespace fs = std::filesystem;

constexpr std::array<char, 8> kMagic = {'D', 'P', 'T', 'Y', 'B', 'L', 'O', 'B'};
constexpr uint32_t kVersion = 1;
constexpr size_t kMaxCompatibility = 1023;
constexpr std::string_view kSuffix = ".blob", kTemporary = ".blob.tmp.";
constexpr auto kForgotten = std::chrono::hours(1);  // a file that is still being written is younger

// Little-endian, as the machines are that Deputy runs on. The text of compatibility follows, then zeros up to `offset`,
// then the blob to the end of the file.
struct Header {
  std::array<char, 8> magic;
  uint32_t version;
  uint32_t compatibility_size;
  uint64_t offset, size;
  Digest key;
  Digest checksum;  // of the whole file with this field zero
};
static_assert(sizeof(Header) == 96 && std::is_trivially_copyable_v<Header>);

Status System(const char* what) { return Error(StatusCode::kUnavailable, "{}: {}", what, std::strerror(errno)); }

// The whole file in memory of its own: a mapping would change with the file, or fault when somebody cuts it.
Result<Blob> ReadWhole(const fs::path& path, uint64_t limit) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (file.get() < 0)
    return errno == ENOENT || errno == ENOTDIR ? Status(StatusCode::kNotFound, "there is none")
                                               : System("cannot be opened");
  struct stat about {};
  if (fstat(file.get(), &about) != 0) return System("cannot be looked at");
  if (!S_ISREG(about.st_mode)) return Status(StatusCode::kModel, "is not a file");
  // Bytes that a driver will believe: only this user or root may have written them.
  if ((about.st_uid != geteuid() && about.st_uid != 0) || (about.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return Status(StatusCode::kModel, "others than you may have written it");
  const auto size = static_cast<uint64_t>(about.st_size);
  if (size < sizeof(Header) || size > limit) return Error(StatusCode::kModel, "has {} bytes, which no entry has", size);
  const std::shared_ptr<uint8_t> memory = AllocateAligned(static_cast<size_t>(size));
  if (memory == nullptr) return Error(StatusCode::kResourceExhausted, "no memory for {} bytes", size);
  for (size_t done = 0; done < size;) {
    const ssize_t got = read(file.get(), memory.get() + done, static_cast<size_t>(size) - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return System("cannot be read");
    if (got == 0) return Status(StatusCode::kModel, "was cut while it was read");
    done += static_cast<size_t>(got);
  }
  return Blob{{memory.get(), static_cast<size_t>(size)}, memory};
}

Digest ChecksumOf(Header header, std::span<const uint8_t> rest) {
  header.checksum = {};
  Digester digester;
  digester.Add({reinterpret_cast<const uint8_t*>(&header), sizeof header});
  return digester.Add(rest).Finish();
}

Result<CachedBlob> Read(const fs::path& path, const Digest& key, uint64_t limit) {
  DEPUTY_ASSIGN_OR_RETURN(const Blob file, ReadWhole(path, limit));
  Header header;
  std::memcpy(&header, file.bytes.data(), sizeof header);
  if (header.magic != kMagic) return Status(StatusCode::kModel, "is not an entry");
  if (header.version != kVersion)
    return Error(StatusCode::kModel, "is of version {}, not {}", header.version, kVersion);
  if (header.checksum != ChecksumOf(header, file.bytes.subspan(sizeof header)))
    return Status(StatusCode::kModel, "is damaged: its checksum does not match");
  if (header.key != key) return Status(StatusCode::kModel, "is of another partition");
  if (header.compatibility_size > kMaxCompatibility || header.offset % kAlignment != 0 ||
      header.offset < sizeof header + header.compatibility_size || header.offset > file.bytes.size() ||
      header.size != file.bytes.size() - header.offset || header.size == 0)
    return Status(StatusCode::kModel, "has lengths that do not fit together");
  const auto* text = reinterpret_cast<const char*>(file.bytes.data() + sizeof header);
  return CachedBlob{std::string(text, header.compatibility_size),
                    {file.bytes.subspan(static_cast<size_t>(header.offset)), file.keep}};
}

}  // namespace

fs::path BlobCache::PathOf(const Digest& key) const { return options_.folder / (HexText(key) + std::string(kSuffix)); }

std::optional<CachedBlob> BlobCache::Find(const Digest& key) {
  const fs::path path = PathOf(key);
  Result<CachedBlob> found = Read(path, key, options_.max_bytes + kAlignment + sizeof(Header) + kMaxCompatibility);
  if (found.ok()) {
    // The time of last use, by which room is made. Where it cannot be set, the entry only goes sooner.
    (void)utimensat(AT_FDCWD, path.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
    return std::move(found).value();
  }
  if (found.status().code() == StatusCode::kNotFound) return std::nullopt;
  Log(LogLevel::kWarning, "cache entry {} {}; its partition is compiled anew", path.string(), found.status().message());
  if (found.status().code() == StatusCode::kModel) {
    std::error_code error;
    fs::remove(path, error);
  }
  return std::nullopt;
}

void BlobCache::Store(const Digest& key, const std::string& compatibility, std::span<const uint8_t> bytes) {
  const std::lock_guard lock(mutex_);
  const Status status = Write(key, compatibility, bytes);
  if (status.ok() || warned_) return;
  warned_ = true;
  Log(LogLevel::kWarning, "the cache of compiled partitions in {} cannot be written: {}; going on without",
      options_.folder.string(), status.message());
}

Status BlobCache::Write(const Digest& key, const std::string& compatibility, std::span<const uint8_t> bytes) {
  std::error_code error;
  fs::create_directories(options_.folder.parent_path(), error);
  if (mkdir(options_.folder.c_str(), S_IRWXU) != 0 && errno != EEXIST) return System("it cannot be made");
  struct stat about {};
  if (stat(options_.folder.c_str(), &about) != 0 || !S_ISDIR(about.st_mode))
    return Status(StatusCode::kUnavailable, "it is not a folder");
  if ((about.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return Status(StatusCode::kUnavailable, "others than you may write to it");
  Header header{};
  header.magic = kMagic;
  header.version = kVersion;
  header.compatibility_size = static_cast<uint32_t>(compatibility.size());
  header.offset = AlignUp(sizeof header + compatibility.size());
  header.size = bytes.size();
  header.key = key;
  std::vector<uint8_t> front(static_cast<size_t>(header.offset) - sizeof header);
  std::copy(compatibility.begin(), compatibility.end(), front.begin());
  Digester digester;
  digester.Add({reinterpret_cast<const uint8_t*>(&header), sizeof header});
  header.checksum = digester.Add(front).Add(bytes).Finish();
  const uint64_t total = header.offset + header.size;
  if (compatibility.size() > kMaxCompatibility || total > options_.max_bytes)
    return Error(StatusCode::kResourceExhausted, "a partition of {} bytes is larger than the cache may be", total);
  MakeRoom(total);
  const std::span<const uint8_t> pieces[] = {{reinterpret_cast<const uint8_t*>(&header), sizeof header}, front, bytes};
  return WriteFileAtomically(PathOf(key), pieces);
}

void BlobCache::MakeRoom(uint64_t more) {
  struct Entry {
    fs::file_time_type used;
    uint64_t bytes;
    fs::path path;
  };
  std::vector<Entry> entries;
  uint64_t total = more;
  std::error_code error;
  for (fs::directory_iterator at(options_.folder, error), end; at != end; at.increment(error)) {
    const fs::directory_entry& file = *at;
    const std::string name = file.path().filename().string();
    const fs::file_time_type used = file.last_write_time(error);
    if (error || !file.is_regular_file(error) || file.is_symlink(error)) continue;
    if (name.find(kTemporary) != std::string::npos) {
      // Left by a process that died while it wrote.
      if (fs::file_time_type::clock::now() - used > kForgotten) fs::remove(file.path(), error);
      continue;
    }
    if (!name.ends_with(kSuffix)) continue;
    const uint64_t bytes = file.file_size(error);
    if (error) continue;
    entries.push_back({used, bytes, file.path()});
    total += bytes;
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.used < b.used; });
  for (const Entry& entry : entries) {
    if (total <= options_.max_bytes) return;
    if (fs::remove(entry.path, error)) total -= entry.bytes;
  }
}

}  // namespace deputy::host
