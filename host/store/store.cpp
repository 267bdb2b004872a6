#include "store/store.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <system_error>
#include <tuple>
#include <utility>

#include "base/file_writer.hpp"
#include "base/function_ref.hpp"
#include "base/judged_file.hpp"
#include "base/log.hpp"
#include "base/trust.hpp"

namespace deputy::host {
namespace {

namespace fs = std::filesystem;

constexpr auto kForgotten = std::chrono::seconds(3600);  // a file that is still being written is younger
constexpr auto kBetweenListings = std::chrono::seconds(1);

std::chrono::system_clock::time_point TimeOf(const timespec& time) {
  return std::chrono::system_clock::time_point(std::chrono::duration_cast<std::chrono::system_clock::duration>(
      std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec)));
}

// Calls `visit` with every regular file of the folder.
Status VisitFiles(int folder, FunctionRef<void(const char* name, const struct stat& about)> visit) {
  // A descriptor of its own: a listing moves the position that duplicates would share.
  Descriptor listed(openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(listed.get() < 0 ? nullptr : fdopendir(listed.get()), closedir);
  if (listing == nullptr) return Error(StatusCode::kUnavailable, "cannot be listed: {}", std::strerror(errno));
  (void)listed.Release();
  while (const dirent* const found = readdir(listing.get())) {
    struct stat about {};
    if (fstatat(folder, found->d_name, &about, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(about.st_mode))
      visit(found->d_name, about);
  }
  return {};
}

}  // namespace

fs::path Store::PathOf(EntryKind kind, const Digest& key) const { return options_.folder / EntryFileName(kind, key); }

std::shared_ptr<const Descriptor> Store::FolderOrWarning(bool make) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<const Descriptor> folder = Folder(make);
  if (!refusal_.empty() && !std::exchange(refusal_logged_, true))
    Log(LogLevel::kWarning, "the cache in {} is not used: {}; continuing without it", options_.folder.string(),
        refusal_);
  return folder;
}

std::shared_ptr<const Descriptor> Store::Folder(bool make) {
  if (!refusal_.empty()) return nullptr;
  struct stat about {};
  if (folder_ != nullptr && fstat(folder_->get(), &about) == 0 && about.st_nlink == 0) folder_ = nullptr;  // removed
  if (folder_ != nullptr) return folder_;
  std::error_code unmade;  // the reason where it cannot be opened below
  Result<JudgedFile> judged = OpenJudged(options_.folder);
  if (make && !judged.ok()) {
    // Before anything is made: another user's link could lead to a place where only this user may write.
    const Result<JudgedFile> part = OpenJudgedPart(options_.folder);
    if (part.ok() && !part->above.empty()) {
      refusal_ = part->above;
      return nullptr;
    }
    fs::create_directories(options_.folder.parent_path(), unmade);
    if (!unmade && mkdir(options_.folder.c_str(), S_IRWXU) != 0 && errno != EEXIST)
      unmade = std::error_code(errno, std::generic_category());
    judged = OpenJudged(options_.folder);
  }
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
  const bool found = judged.ok() && S_ISDIR(judged->about.st_mode);
  const auto opened = std::make_shared<const Descriptor>(found ? openat(judged->file.get(), ".", kFlags)
                                                               : open(options_.folder.c_str(), kFlags));
  if (opened->get() < 0) {
    if (make || errno != ENOENT)
      refusal_ = fmt::format("cannot be opened: {}", unmade ? unmade.message() : std::strerror(errno));
    return nullptr;
  }
  if (!found || fstat(opened->get(), &about) != 0) {
    refusal_ = fmt::format("cannot be opened: {}", found ? std::strerror(errno) : judged.status().message());
  } else if (refusal_ = ReasonForDistrust(about, opened->get()); refusal_.empty()) {
    refusal_ = judged->above;
  }
  if (refusal_.empty()) folder_ = opened;
  return folder_;
}

std::optional<StoredEntry> Store::Find(EntryKind kind, const Digest& key) {
  const std::shared_ptr<const Descriptor> folder = FolderOrWarning(false);
  if (folder == nullptr) return std::nullopt;
  Result<StoredEntry> found = ReadEntry(folder->get(), kind, key, options_.max_bytes);
  const std::string name = EntryFileName(kind, key);
  if (found.ok()) {
    // The time of last use, for making room. Where it cannot be set, the entry is only removed sooner.
    (void)utimensat(folder->get(), name.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
    return std::move(found).value();
  }
  const StatusCode code = found.status().code();
  if (code == StatusCode::kNotFound) return std::nullopt;
  const bool damaged = code == StatusCode::kModel;
  const bool removed = damaged && unlinkat(folder->get(), name.c_str(), 0) == 0;
  const std::lock_guard lock(mutex_);
  if (removed || reported_.insert(name).second)
    Log(code == StatusCode::kNotSupported ? LogLevel::kInfo : LogLevel::kWarning,
        "cache entry {} {}; its content is made again", (options_.folder / name).string(), found.status().message());
  return std::nullopt;
}

std::string Store::Save(EntryKind kind, const Digest& key, std::string_view text, std::span<const uint8_t> bytes,
                        const EntryOrigin& origin) {
  const std::lock_guard saving(saving_);
  const std::shared_ptr<const Descriptor> folder = FolderOrWarning(true);
  if (folder == nullptr) {
    const std::lock_guard lock(mutex_);
    return fmt::format("the cache in {} is not used: {}", options_.folder.string(), refusal_);
  }
  const Status status = Write(folder->get(), kind, key, WithOrigin(text, origin, kMaxEntryText), bytes);
  if (status.ok()) return {};
  const std::lock_guard lock(mutex_);
  if (!std::exchange(warned_, true))
    Log(LogLevel::kWarning, "the cache in {} cannot be written: {}; what it has already is used",
        options_.folder.string(), status.message());
  return status.message();
}

Status Store::Remove(EntryKind kind, const Digest& key) {
  DEPUTY_ASSIGN_OR_RETURN(const std::shared_ptr<const Descriptor> folder, UsableFolder());
  if (folder == nullptr || unlinkat(folder->get(), EntryFileName(kind, key).c_str(), 0) == 0 || errno == ENOENT)
    return {};
  return Error(StatusCode::kUnavailable, "cannot be removed: {}", std::strerror(errno));
}

Result<std::shared_ptr<const Descriptor>> Store::UsableFolder() {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<const Descriptor> folder = Folder(false);
  if (folder == nullptr && !refusal_.empty())
    return Error(StatusCode::kUnavailable, "the cache in {} is not used: {}", options_.folder.string(), refusal_);
  return folder;
}

Result<std::vector<EntryInfo>> Store::List(bool check) {
  DEPUTY_ASSIGN_OR_RETURN(const std::shared_ptr<const Descriptor> folder, UsableFolder());
  if (folder == nullptr) return std::vector<EntryInfo>();
  std::vector<EntryInfo> entries;
  const Status listed = VisitFiles(folder->get(), [&](const char* name, const struct stat& about) {
    const auto parsed = ParseEntryFileName(name);
    if (!parsed) return;
    EntryInfo info;
    info.kind = parsed->first;
    info.key = parsed->second;
    info.bytes = static_cast<uint64_t>(about.st_size);
    info.last_use = TimeOf(about.st_mtim);
    Status status;
    if (check) {
      Result<StoredEntry> entry = ReadEntry(folder->get(), info.kind, info.key, options_.max_bytes);
      if (entry.ok()) std::tie(info.text, info.origin) = std::tie(entry->text, entry->origin);
      status = entry.status();
    } else {
      Result<std::string> text = ReadEntryText(folder->get(), info.kind, info.key, options_.max_bytes);
      if (text.ok()) std::tie(info.text, info.origin) = SplitOrigin(*text);
      status = text.status();
    }
    switch (status.code()) {
      case StatusCode::kOk: info.state = check ? EntryState::kIntact : EntryState::kUnchecked; break;
      case StatusCode::kNotFound: return;  // removed meanwhile
      case StatusCode::kModel: info.state = EntryState::kDamaged; break;
      case StatusCode::kNotSupported: info.state = EntryState::kOther; break;
      default: info.state = EntryState::kUnreadable;
    }
    info.problem = std::string(status.message());
    entries.push_back(std::move(info));
  });
  if (!listed.ok()) return Status(listed).At(options_.folder.string());
  std::sort(entries.begin(), entries.end(),
            [](const EntryInfo& a, const EntryInfo& b) { return std::tie(a.kind, a.key) < std::tie(b.kind, b.key); });
  return entries;
}

Status Store::Write(int folder, EntryKind kind, const Digest& key, std::string_view text,
                    std::span<const uint8_t> bytes) {
  const uint64_t total = EntryFileSize(text, bytes);
  if (total > options_.max_bytes)
    return Error(StatusCode::kResourceExhausted, "an entry of {} bytes exceeds the size limit of the cache, {} bytes",
                 total, options_.max_bytes);
  // A model saves many entries at once. What other processes write is seen at the next listing.
  const auto now = std::chrono::steady_clock::now();
  if (total > free_ || now - listed_ > kBetweenListings) {
    free_ = MakeRoom(folder, EntryFileName(kind, key), total) + total;
    listed_ = now;
  }
  free_ -= total;
  return WriteEntry(folder, kind, key, text, bytes);
}

uint64_t Store::MakeRoom(int folder, const std::string& replaced, uint64_t more) {
  struct Removable {
    double cost;  // of keeping it: bytes times seconds
    uint64_t bytes;
    std::string name;
  };
  std::vector<Removable> entries;
  uint64_t total = more;
  const auto now = std::chrono::system_clock::now();
  const Status listed = VisitFiles(folder, [&](const char* name, const struct stat& about) {
    const auto age = std::chrono::duration<double>(now - TimeOf(about.st_mtim));
    // Left by a process that was killed while it wrote.
    if (std::string_view(name).starts_with(kTemporaryPrefix) && age > kForgotten) unlinkat(folder, name, 0);
    if (!ParseEntryFileName(name) || name == replaced) return;
    const auto bytes = static_cast<uint64_t>(about.st_size);
    // An age of at least a microsecond: a clock that was set back makes no entry free.
    entries.push_back({static_cast<double>(bytes) * std::max(age.count(), 1e-6), bytes, name});
    total += bytes;
  });
  if (!listed.ok()) return 0;
  std::sort(entries.begin(), entries.end(), [](const Removable& a, const Removable& b) { return a.cost > b.cost; });
  for (const Removable& entry : entries) {
    if (total <= options_.max_bytes) break;
    if (unlinkat(folder, entry.name.c_str(), 0) == 0) total -= entry.bytes;
  }
  return options_.max_bytes - std::min(total, options_.max_bytes);
}

}  // namespace deputy::host
