#include "plan/blob_cache.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <system_error>
#include <utility>
#include <vector>

#include "base/aligned.hpp"
#include "base/file.hpp"
#include "base/file_writer.hpp"
#include "base/log.hpp"
#include "base/trust.hpp"

namespace deputy::host {
namespace {

namespace fs = std::filesystem;

constexpr std::array<char, 8> kMagic = {'D', 'P', 'T', 'Y', 'B', 'L', 'O', 'B'};
constexpr uint32_t kVersion = 1;
constexpr size_t kMaxCompatibility = 1023;
constexpr std::string_view kSuffix = ".blob";
constexpr auto kForgotten = std::chrono::seconds(3600);  // a file that is still being written is younger

// Little-endian, as the machines are that Deputy runs on. The compatibility text follows, then zeros up to `offset`,
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

Status System(const char* failure) { return Error(StatusCode::kUnavailable, "{}: {}", failure, std::strerror(errno)); }

// The whole file in memory of its own: a mapping would change with the file, or fault when the file is truncated.
Result<Blob> ReadWhole(int folder, const std::string& name, uint64_t limit) {
  const Descriptor file(openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (file.get() < 0)
    return errno == ENOENT || errno == ENOTDIR ? Status(StatusCode::kNotFound, "does not exist")
                                               : System("cannot be opened");
  struct stat about {};
  if (fstat(file.get(), &about) != 0) return System("cannot be inspected");
  if (!S_ISREG(about.st_mode)) return Status(StatusCode::kModel, "is not a regular file");
  // Bytes that a driver will trust: only this user or root may have written them.
  if (const std::string why = ReasonForDistrust(about, file.get()); !why.empty())
    return Error(StatusCode::kModel, "{}", why);
  const auto size = static_cast<uint64_t>(about.st_size);
  if (size < sizeof(Header) || size > limit)
    return Error(StatusCode::kModel, "has {} bytes, which is not a valid size of an entry", size);
  const std::shared_ptr<uint8_t> memory = AllocateAligned(static_cast<size_t>(size));
  if (memory == nullptr) return Error(StatusCode::kResourceExhausted, "no memory for {} bytes", size);
  for (size_t done = 0; done < size;) {
    const ssize_t got = read(file.get(), memory.get() + done, static_cast<size_t>(size) - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return System("cannot be read");
    if (got == 0) return Status(StatusCode::kModel, "was truncated while it was read");
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

std::string NameOf(const Digest& key) { return HexText(key) + std::string(kSuffix); }

Result<CachedBlob> Read(int folder, const Digest& key, uint64_t limit) {
  DEPUTY_ASSIGN_OR_RETURN(const Blob file, ReadWhole(folder, NameOf(key), limit));
  Header header;
  std::memcpy(&header, file.bytes.data(), sizeof header);
  if (header.magic != kMagic) return Status(StatusCode::kModel, "is not a cache entry");
  if (header.version != kVersion)
    return Error(StatusCode::kModel, "has version {}, expected {}", header.version, kVersion);
  if (header.checksum != ChecksumOf(header, file.bytes.subspan(sizeof header)))
    return Status(StatusCode::kModel, "is damaged: its checksum does not match");
  if (header.key != key) return Status(StatusCode::kModel, "belongs to another partition");
  if (header.compatibility_size > kMaxCompatibility || header.offset % kAlignment != 0 ||
      header.offset < sizeof header + header.compatibility_size || header.offset > file.bytes.size() ||
      header.size != file.bytes.size() - header.offset || header.size == 0)
    return Status(StatusCode::kModel, "has an inconsistent header");
  const auto* text = reinterpret_cast<const char*>(file.bytes.data() + sizeof header);
  return CachedBlob{std::string(text, header.compatibility_size),
                    {file.bytes.subspan(static_cast<size_t>(header.offset)), file.keep}};
}

}  // namespace

fs::path BlobCache::PathOf(const Digest& key) const { return options_.folder / NameOf(key); }

void BlobCache::Refuse(const std::string& why) {
  refused_ = true;
  Log(LogLevel::kWarning, "the cache of compiled partitions in {} is not used: {}; continuing without it",
      options_.folder.string(), why);
}

std::shared_ptr<const Descriptor> BlobCache::Folder(bool make) {
  if (refused_) return nullptr;
  struct stat about {};
  if (folder_ != nullptr && fstat(folder_->get(), &about) == 0 && about.st_nlink == 0) folder_ = nullptr;  // removed
  if (folder_ != nullptr) return folder_;
  if (make) {
    std::error_code ignored;  // a folder that could not be made fails to open below
    fs::create_directories(options_.folder.parent_path(), ignored);
    (void)mkdir(options_.folder.c_str(), S_IRWXU);
  }
  const auto opened =
      std::make_shared<const Descriptor>(open(options_.folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened->get() < 0) {
    if (make || errno != ENOENT) Refuse(fmt::format("cannot be opened: {}", std::strerror(errno)));
    return nullptr;
  }
  if (fstat(opened->get(), &about) != 0) {
    Refuse(fmt::format("cannot be opened: {}", std::strerror(errno)));
  } else if (const std::string why = ReasonForDistrust(about, opened->get()); !why.empty()) {
    Refuse(why);
  } else {
    folder_ = opened;
  }
  return folder_;
}

std::optional<CachedBlob> BlobCache::Find(const Digest& key) {
  const std::shared_ptr<const Descriptor> opened = [&] {
    const std::lock_guard lock(mutex_);
    return Folder(false);
  }();
  if (opened == nullptr) return std::nullopt;
  const int folder = opened->get();
  Result<CachedBlob> found = Read(folder, key, options_.max_bytes + kAlignment + sizeof(Header) + kMaxCompatibility);
  if (found.ok()) {
    // The time of last use, for making room. Where it cannot be set, the entry is only removed sooner.
    (void)utimensat(folder, NameOf(key).c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
    return std::move(found).value();
  }
  if (found.status().code() == StatusCode::kNotFound) return std::nullopt;
  Log(LogLevel::kWarning, "cache entry {} {}; its partition is compiled again", PathOf(key).string(),
      found.status().message());
  if (found.status().code() == StatusCode::kModel) unlinkat(folder, NameOf(key).c_str(), 0);
  return std::nullopt;
}

void BlobCache::Store(const Digest& key, const std::string& compatibility, std::span<const uint8_t> bytes) {
  const std::lock_guard lock(mutex_);
  const std::shared_ptr<const Descriptor> folder = Folder(true);
  if (folder == nullptr) return;
  const Status status = Write(folder->get(), key, compatibility, bytes);
  if (status.ok() || warned_) return;
  warned_ = true;
  Log(LogLevel::kWarning, "the cache of compiled partitions in {} cannot be written: {}; continuing without it",
      options_.folder.string(), status.message());
}

Status BlobCache::Write(int folder, const Digest& key, const std::string& compatibility,
                        std::span<const uint8_t> bytes) {
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
    return Error(StatusCode::kResourceExhausted, "a partition of {} bytes exceeds the size limit of the cache", total);
  MakeRoom(folder, total);
  const std::span<const uint8_t> pieces[] = {{reinterpret_cast<const uint8_t*>(&header), sizeof header}, front, bytes};
  return WriteFileIn(folder, NameOf(key), pieces);
}

void BlobCache::MakeRoom(int folder, uint64_t more) {
  struct Entry {
    timespec used;
    uint64_t bytes;
    std::string name;
  };
  // A descriptor of its own: a listing moves the position that duplicates would share.
  Descriptor listed(openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(listed.get() < 0 ? nullptr : fdopendir(listed.get()), closedir);
  if (listing == nullptr) return;
  (void)listed.Release();
  std::vector<Entry> entries;
  uint64_t total = more;
  const time_t now = time(nullptr);
  while (const dirent* const found = readdir(listing.get())) {
    const std::string_view name = found->d_name;
    struct stat about {};
    if (fstatat(folder, found->d_name, &about, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(about.st_mode)) continue;
    if (name.starts_with(kTemporaryPrefix)) {
      // Left by a process that was killed while it wrote.
      if (now - about.st_mtim.tv_sec > kForgotten.count()) unlinkat(folder, found->d_name, 0);
      continue;
    }
    if (!name.ends_with(kSuffix)) continue;
    const auto bytes = static_cast<uint64_t>(about.st_size);
    entries.push_back({about.st_mtim, bytes, std::string(name)});
    total += bytes;
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.used.tv_sec, a.used.tv_nsec) < std::pair(b.used.tv_sec, b.used.tv_nsec);
  });
  for (const Entry& entry : entries) {
    if (total <= options_.max_bytes) return;
    if (unlinkat(folder, entry.name.c_str(), 0) == 0) total -= entry.bytes;
  }
}

}  // namespace deputy::host
