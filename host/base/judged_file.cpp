#include "base/judged_file.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <system_error>
#include <utility>
#include <vector>

#include "base/trust.hpp"

namespace deputy::host {
namespace {

namespace fs = std::filesystem;

constexpr int kMostLinks = 40;  // of a path, as in Linux
constexpr int kFolderFlags = O_PATH | O_DIRECTORY | O_CLOEXEC;

// "/srv/shared (owner 0, mode 0777): users other than you and root may write to it; chmod go-w /srv/shared"
std::string Reason(const fs::path& path, const struct stat& about, const std::string& why, const char* remedy) {
  const std::string what = fmt::format("{} (owner {}, mode {:04o}): {}", path.string(), about.st_uid,
                                       static_cast<unsigned>(about.st_mode & 07777), why);
  if (IsUnmapped(about.st_uid)) return what + "; map its owner, or start the program outside of the namespace";
  return fmt::format("{}; {} {}", what, remedy, path.string());
}

class Walk {
 public:
  explicit Walk(uid_t also) : also_(also) {}

  Result<JudgedFile> Run(const fs::path& path) {
    std::error_code error;
    const fs::path absolute = fs::absolute(path, error);
    if (error) return Error(StatusCode::kUnavailable, "cannot open: {}", error.message());
    Push(absolute);
    DEPUTY_RETURN_IF_ERROR(Restart());
    while (!pending_.empty()) {
      const std::string name = std::move(pending_.back());
      pending_.pop_back();
      DEPUTY_RETURN_IF_ERROR(Enter(name));
      if (at_end_) return std::move(found_);
    }
    found_.own = StrictReason(about_, folder_, -1);
    found_.file = std::move(at_);
    found_.about = about_;
    found_.resolved = std::move(folder_);
    return std::move(found_);
  }

 private:
  static Status Failed(int error = errno) {
    const bool missing = error == ENOENT || error == ENOTDIR;
    return Error(missing ? StatusCode::kNotFound : StatusCode::kUnavailable, "cannot open: {}", std::strerror(error));
  }

  // In the reverse order of the parts.
  void Push(const fs::path& path) {
    const std::vector<fs::path> parts(path.begin(), path.end());
    for (auto part = parts.rbegin(); part != parts.rend(); ++part)
      if (*part != "/") pending_.push_back(part->empty() ? "." : part->string());
  }

  Status Restart() {
    at_ = Descriptor(open("/", kFolderFlags));
    folder_ = "/";
    return Judge();
  }

  // A part of the path: a folder to go to, a link to follow, or the file at the end.
  Status Enter(const std::string& name) {
    if (name == ".") return {};
    if (name == "..") {
      at_ = Descriptor(openat(at_.get(), "..", kFolderFlags));
      folder_ = folder_.parent_path();
      return Judge();
    }
    Descriptor next(openat(at_.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat about {};
    if (next.get() < 0 || fstat(next.get(), &about) != 0) return Failed();
    if (S_ISLNK(about.st_mode)) return Follow(name, next.get(), about);
    if (S_ISDIR(about.st_mode)) {
      at_ = std::move(next);
      folder_ /= name;
      return Judge();
    }
    if (!pending_.empty()) return Failed(ENOTDIR);
    return Finish(name, about);
  }

  // A link cannot be changed, only replaced; in a sticky folder by its owner.
  Status Follow(const std::string& name, int link, const struct stat& about) {
    if (++links_ > kMostLinks) return Failed(ELOOP);
    if (pending_.empty() && LeadsToAnOpenFile(name)) return {};
    if ((about_.st_mode & S_ISVTX) != 0 && !IsTrusted(about.st_uid))
      Add(found_.above, Reason(folder_ / name, about, OwnerText(about.st_uid), "chown -h root"));
    std::array<char, PATH_MAX> target;
    const ssize_t size = readlinkat(link, "", target.data(), target.size());
    if (size <= 0) return Failed(size == 0 ? ENOENT : errno);
    const fs::path path = std::string(target.data(), static_cast<size_t>(size));
    Push(path);
    return path.is_absolute() ? Restart() : Status();
  }

  // A descriptor of a process, such as /dev/stdin, may be of something without a path: then the text of the link is
  // none, and the kind of what is there is all that can be said.
  bool LeadsToAnOpenFile(const std::string& name) {
    struct statfs system {};
    struct stat target {};
    if (fstatfs(at_.get(), &system) != 0 || system.f_type != PROC_SUPER_MAGIC) return false;
    if (fstatat(at_.get(), name.c_str(), &target, 0) != 0 || S_ISDIR(target.st_mode)) return false;
    if (S_ISREG(target.st_mode) && target.st_nlink != 0) return false;
    at_end_ = true;
    found_.about = target;
    found_.resolved = folder_ / name;
    found_.own = Reason(found_.resolved, target, "has no path that could be judged", "copy it to a file instead of");
    return true;
  }

  // The file at the end is judged as it was opened for reading.
  Status Finish(const std::string& name, const struct stat& about) {
    at_end_ = true;
    found_.about = about;
    found_.resolved = folder_ / name;
    found_.folder = StrictReason(about_, folder_, -1);
    if (S_ISREG(about.st_mode)) {
      found_.file =
          Descriptor(openat(at_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
      if (found_.file.get() < 0 || fstat(found_.file.get(), &found_.about) != 0) return Failed();
    }
    found_.own = StrictReason(found_.about, found_.resolved, found_.file.get());
    return {};
  }

  // The folder that was entered.
  Status Judge() {
    if (at_.get() < 0 || fstat(at_.get(), &about_) != 0) return Failed();
    const bool sticky = (about_.st_mode & S_ISVTX) != 0;
    if (!sticky || !IsTrusted(about_.st_uid)) Add(found_.above, StrictReason(about_, folder_, -1));
    return {};
  }

  // By its path, a folder of an untrusted one could be another one by now; the reason of that one stands already.
  std::string StrictReason(const struct stat& about, const fs::path& path, int fd) const {
    if (!IsTrusted(about.st_uid)) return Reason(path, about, OwnerText(about.st_uid), "chown root");
    const std::string writers = WritersOf(about, fd, path);
    return writers.empty() ? "" : Reason(path, about, writers, "chmod go-w");
  }

  bool IsTrusted(uid_t owner) const { return (owner == also_ && owner != OverflowUser()) || IsTrustedOwner(owner); }

  static void Add(std::string& reason, std::string more) {
    if (reason.empty()) reason = std::move(more);
  }

  const uid_t also_;
  std::vector<std::string> pending_;  // parts, the next one last
  Descriptor at_;                     // the folder
  fs::path folder_;                   // its path, without links
  struct stat about_ {};              // of it
  int links_ = 0;
  bool at_end_ = false;
  JudgedFile found_;
};

bool IsUnchanged(const struct stat& before, const struct stat& after) {
  const auto same = [](const timespec& a, const timespec& b) { return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec; };
  return before.st_size == after.st_size && same(before.st_mtim, after.st_mtim) && same(before.st_ctim, after.st_ctim);
}

}  // namespace

const std::string& JudgedFile::distrust(bool strict) const {
  if (!own.empty()) return own;
  return strict && !folder.empty() ? folder : above;
}

Result<JudgedFile> OpenJudged(const fs::path& path, uid_t also) {
  Result<JudgedFile> found = Walk(also).Run(path);
  if (found.ok()) return found;
  return std::move(found).status().At(path.string());
}

Result<JudgedFile> OpenJudgedPart(const fs::path& path) {
  std::error_code error;
  fs::path place = fs::absolute(path, error);
  for (int links = 0; links <= kMostLinks;) {
    Result<JudgedFile> judged = OpenJudged(place);
    if (judged.ok()) return judged;
    const fs::path target = fs::read_symlink(place, error), above = place.parent_path();
    if (error && above == place) return judged;
    place = error ? above : above / target;
    if (!error) ++links;
  }
  return Error(StatusCode::kUnavailable, "cannot open: {}", std::strerror(ELOOP)).At(path.string());
}

namespace {

Status Untrusted(const fs::path& path, const std::string& why) {
  if (why.empty()) return {};
  return Error(StatusCode::kFailedPrecondition, "is not trusted: {}", why).At(path.string());
}

}  // namespace

Status CheckTrusted(const fs::path& path) {
  const Result<JudgedFile> judged = OpenJudged(path);
  return judged.ok() ? Untrusted(path, judged->distrust(/*strict=*/true)) : Status();
}

Status CheckTrustedToMake(const fs::path& path) {
  const Result<JudgedFile> judged = OpenJudgedPart(path);
  return judged.ok() ? Untrusted(path, judged->above) : judged.status();
}

Result<std::string> ReadTrustedFile(const fs::path& path, size_t limit, Judgement judgement) {
  DEPUTY_ASSIGN_OR_RETURN(const JudgedFile file, OpenJudged(path, judgement.also));
  const auto refuse = [&](StatusCode code, std::string why) { return Status(code, std::move(why)).At(path.string()); };
  if (!S_ISREG(file.about.st_mode))
    return refuse(StatusCode::kInvalidArgument, fmt::format("is {}, not a file", KindOfFile(file.about.st_mode)));
  if (const std::string& why = file.distrust(judgement.strict); !why.empty() && !judgement.all)
    return refuse(StatusCode::kFailedPrecondition, "is not trusted: " + why);
  const auto size = static_cast<size_t>(file.about.st_size);
  if (size > limit)
    return refuse(StatusCode::kResourceExhausted, fmt::format("is {} bytes, more than the limit of {}", size, limit));
  std::string text(size, '\0');
  errno = 0;
  const bool whole = ReadAt(file.file.get(), 0, {reinterpret_cast<uint8_t*>(text.data()), text.size()});
  if (!whole && errno != 0)
    return refuse(StatusCode::kUnavailable, fmt::format("cannot read: {}", std::strerror(errno)));
  struct stat after {};
  if (!whole || fstat(file.file.get(), &after) != 0 || !IsUnchanged(file.about, after))
    return refuse(StatusCode::kAborted, "changed while it was read; try again");
  return text;
}

const Installation& ThisInstallation() {
  static const Installation installation = [] {
    Installation made;
    Dl_info info{};
    if (dladdr(reinterpret_cast<const void*>(&ThisInstallation), &info) == 0 || info.dli_fname == nullptr) return made;
    struct stat about {};
    if (stat(info.dli_fname, &about) != 0) return made;
    made.owner = about.st_uid;
    const Result<JudgedFile> judged = OpenJudged(info.dli_fname, made.owner);
    if (judged.ok()) made.distrust = judged->distrust(/*strict=*/true);
    return made;
  }();
  return installation;
}

Judgement OfInstallation() {
  const Installation& installation = ThisInstallation();
  return {.strict = true, .also = installation.owner, .all = !installation.distrust.empty()};
}

Status CheckInstalledFile(const fs::path& path) {
  const Judgement judgement = OfInstallation();
  if (judgement.all) return {};
  const Result<JudgedFile> judged = OpenJudged(path, judgement.also);
  return judged.ok() ? Untrusted(path, judged->distrust(judgement.strict)) : Status();
}

}  // namespace deputy::host
