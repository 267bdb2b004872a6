#include "base/file_writer.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "base/file.hpp"

namespace deputy::host {
namespace {

constexpr size_t kRandomBytes = 16;
constexpr size_t kNameSize = kTemporaryPrefix.size() + 2 * kRandomBytes + 1;

// A file that is being written, where a signal handler can find it.
struct Unfinished {
  enum : int { kFree, kTaken, kReady };
  std::atomic<int> state{kFree};
  int folder = -1;
  pid_t process = 0;  // a forked child has the table, too, but not the file
  std::array<char, kNameSize> name{};
};
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler reads it");

// A file beyond the table's size is still written, but not removed by a signal.
std::array<Unfinished, 16> unfinished_files;

Unfinished* Announce(int folder, const std::array<char, kNameSize>& name) {
  for (Unfinished& file : unfinished_files) {
    int free = Unfinished::kFree;
    if (!file.state.compare_exchange_strong(free, Unfinished::kTaken)) continue;
    file.folder = folder;
    file.process = getpid();
    file.name = name;
    file.state.store(Unfinished::kReady);
    return &file;
  }
  return nullptr;
}

// Async-signal-safe.
void RemoveAndDie(int signal) {
  for (const Unfinished& file : unfinished_files)
    if (file.state.load() == Unfinished::kReady && file.process == getpid()) unlinkat(file.folder, file.name.data(), 0);
  // The handler was reset when it was called; the signal is delivered again when this returns.
  raise(signal);
}

bool RandomName(std::array<char, kNameSize>& name) {
  constexpr char kHex[] = "0123456789abcdef";
  std::array<uint8_t, kRandomBytes> random;
  if (getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size())) return false;
  char* to = name.data() + kTemporaryPrefix.copy(name.data(), kTemporaryPrefix.size());
  for (const uint8_t byte : random) {
    *to++ = kHex[byte >> 4];
    *to++ = kHex[byte & 15];
  }
  *to = '\0';
  return true;
}

// A new file in the folder, removed again unless it replaces its target.
class Temporary {
 public:
  explicit Temporary(int folder) : folder_(folder) {}
  ~Temporary() {
    if (exists_) unlinkat(folder_, name_.data(), 0);
    Withdraw();
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  // A descriptor for writing; negative with errno set.
  int Create(mode_t mode) {
    constexpr int kAttempts = 8;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      if (!RandomName(name_)) return -1;
      announced_ = Announce(folder_, name_);
      const int fd = openat(folder_, name_.data(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
      exists_ = fd >= 0;
      if (exists_ || errno != EEXIST) return fd;
      Withdraw();
    }
    return -1;
  }
  bool TakePlaceOf(const std::string& target) {
    if (renameat(folder_, name_.data(), folder_, target.c_str()) != 0) return false;
    exists_ = false;
    return true;
  }

 private:
  void Withdraw() {
    if (announced_ != nullptr) announced_->state.store(Unfinished::kFree);
    announced_ = nullptr;
  }

  const int folder_;
  std::array<char, kNameSize> name_{};
  Unfinished* announced_ = nullptr;
  bool exists_ = false;
};

Status Failed(const char* action, int error = errno) {
  return Error(StatusCode::kUnavailable, "cannot {}: {}", action, std::strerror(error));
}

Status WriteAll(int fd, std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return Failed("write");
    if (put == 0) return Failed("write", ENOSPC);
    bytes = bytes.subspan(static_cast<size_t>(put));
  }
  return {};
}

// `replaces`: there is such a file, with these attributes.
Status CheckTargetIn(int folder, const std::string& name, struct stat& old, bool& replaces) {
  if (name.empty() || name == "." || name == "..")
    return Status(StatusCode::kInvalidArgument, "is a directory, not a file");
  replaces = fstatat(folder, name.c_str(), &old, AT_SYMLINK_NOFOLLOW) == 0;
  if (!replaces && errno != ENOENT) return Failed("create");
  if (replaces && !S_ISREG(old.st_mode))
    return Error(StatusCode::kInvalidArgument, "is {}, not a file; it is left as it is", KindOfFile(old.st_mode))
        .Advise("name a regular file or a new one");
  return {};
}

int OpenFolderOf(const std::filesystem::path& path) {
  const std::filesystem::path parent = path.parent_path();
  return open(parent.empty() ? "." : parent.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
}

}  // namespace

Status CheckTarget(const std::filesystem::path& path) {
  const Descriptor folder(OpenFolderOf(path));
  struct stat old {};
  bool replaces = false;
  Status status =
      folder.get() < 0 ? Failed("create") : CheckTargetIn(folder.get(), path.filename().string(), old, replaces);
  return std::move(status).At(path.string());
}

Status WriteFileIn(int folder, const std::string& name, FilePieces pieces, bool flush) {
  struct stat old {};
  bool replaces = false;
  DEPUTY_RETURN_IF_ERROR(CheckTargetIn(folder, name, old, replaces));
  Temporary temporary(folder);
  // A file that replaces a private one is private from the beginning.
  const Descriptor file(temporary.Create(replaces ? S_IRUSR | S_IWUSR : 0644));
  if (file.get() < 0) return Failed("create");
  for (const std::span<const uint8_t> piece : pieces) DEPUTY_RETURN_IF_ERROR(WriteAll(file.get(), piece));
  if (replaces && fchmod(file.get(), old.st_mode & (S_IRWXU | S_IRWXG | S_IRWXO)) != 0) return Failed("write");
  // Some file systems do not support fsync, which is not an error of the file.
  if (flush && fsync(file.get()) != 0 && errno != EINVAL && errno != ENOTSUP) return Failed("write");
  if (!temporary.TakePlaceOf(name)) return Failed("replace");
  return {};
}

Status WriteFileAtomically(const std::filesystem::path& path, FilePieces pieces) {
  const Descriptor folder(OpenFolderOf(path));
  Status status = folder.get() < 0 ? Failed("create") : WriteFileIn(folder.get(), path.filename().string(), pieces);
  if (!status.ok()) return std::move(status).At(path.string());
  return status;
}

void RemoveTemporariesOnSignals() {
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXCPU, SIGXFSZ}) {
    struct sigaction action {};
    if (sigaction(signal, nullptr, &action) != 0 || (action.sa_flags & SA_SIGINFO) != 0 || action.sa_handler != SIG_DFL)
      continue;
    action = {};
    action.sa_handler = RemoveAndDie;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigfillset(&action.sa_mask);
    sigaction(signal, &action, nullptr);
  }
}

}  // namespace deputy::host
