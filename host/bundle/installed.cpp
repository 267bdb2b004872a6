#include "bundle/installed.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include "base/file.hpp"
#include "base/file_writer.hpp"
#include "base/judged_file.hpp"
#include "base/nearest.hpp"
#include "bundle/contents.hpp"
#include "bundle/verify.hpp"
#include "bundle/version.hpp"

namespace deputy::host::bundle {
namespace {

namespace fs = std::filesystem;

constexpr char kCurrent[] = "current", kPrevious[] = "previous", kLockName[] = ".lock";

Status Failed(const char* action, const fs::path& path, int error = errno) {
  return Error(StatusCode::kUnavailable, "cannot {}: {}", action, std::strerror(error)).At(path.string());
}

bool IsTemporary(const fs::path& path) { return path.filename().string().starts_with(kTemporaryPrefix); }

// The version that a link names; empty if there is no such link.
std::string VersionOf(const fs::path& link) {
  std::error_code error;
  const std::string version = fs::read_symlink(link, error).string();
  return !error && CheckVersion(version).ok() ? version : "";
}

std::vector<fs::path> FoldersIn(const fs::path& folder) {
  std::error_code ignored;
  std::vector<fs::path> found = PathsIn(folder, ignored);
  std::erase_if(found, [&](const fs::path& path) {
    return fs::symlink_status(path, ignored).type() != fs::file_type::directory;
  });
  return found;
}

// A change of the root holds it alone, so that anything with a temporary name was left by a process that was killed.
class Root {
 public:
  static Result<Root> Lock(const fs::path& path) {
    std::error_code error;
    DEPUTY_RETURN_IF_ERROR(CheckTrustedToMake(path));
    fs::create_directories(path, error);
    if (error) return Error(StatusCode::kUnavailable, "cannot be made: {}", error.message()).At(path.string());
    DEPUTY_RETURN_IF_ERROR(CheckTrusted(path));
    const fs::path lock = path / kLockName;
    Root root(path, open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (root.lock_.get() < 0) return Failed("open", lock);
    while (flock(root.lock_.get(), LOCK_EX) != 0)
      if (errno != EINTR) return Failed("lock", lock);
    root.RemoveTemporaries();
    return root;
  }
  Root(Root&& other) noexcept : path_(std::move(other.path_)), lock_(other.lock_.Release()) {}

  // The folder of a bundle, where there is one. A link of it would lead changes to another place.
  Status CheckBundle(const std::string& name) const {
    const fs::path folder = path_ / name;
    std::error_code error;
    const fs::file_type type = fs::symlink_status(folder, error).type();
    if (type != fs::file_type::directory && type != fs::file_type::not_found)
      return Error(StatusCode::kFailedPrecondition, "is not a folder but {}",
                   type == fs::file_type::symlink ? "a symbolic link" : "another kind of file")
          .At(folder.string())
          .Advise("remove it, and install the bundle");
    return CheckTrusted(folder);
  }

  // A new private folder in the root.
  Result<fs::path> MakeTemporary() const {
    std::string name = (path_ / (std::string(kTemporaryPrefix) + "XXXXXX")).string();
    if (mkdtemp(name.data()) == nullptr) return Failed("create", path_);
    return fs::path(std::move(name));
  }

  // Takes a folder away with one rename, then removes it.
  Status Remove(const fs::path& folder) const {
    DEPUTY_ASSIGN_OR_RETURN(const fs::path temporary, MakeTemporary());
    std::error_code error;
    if (rename(folder.c_str(), temporary.c_str()) != 0) {
      Status status = Failed("remove", folder);
      fs::remove(temporary, error);
      return status;
    }
    fs::remove_all(temporary, error);
    if (error) return Error(StatusCode::kUnavailable, "cannot be removed: {}", error.message()).At(temporary.string());
    return {};
  }

  // Makes `version` the current one: the next reader finds it, an earlier one keeps what it has found.
  Status Switch(const std::string& name, const std::string& version) const {
    const std::string before = VersionOf(path_ / name / kCurrent);
    if (before == version) return {};
    if (!before.empty()) DEPUTY_RETURN_IF_ERROR(Link(name, kPrevious, before));
    DEPUTY_RETURN_IF_ERROR(Link(name, kCurrent, version));
    return FlushFolder(path_ / name);
  }

  const fs::path& path() const { return path_; }

 private:
  Root(fs::path path, int lock) : path_(std::move(path)), lock_(lock) {}

  void RemoveTemporaries() const {
    std::error_code error;
    for (const fs::path& path : FoldersIn(path_))
      if (IsTemporary(path)) fs::remove_all(path, error);
  }

  Status Link(const std::string& name, const char* link, const std::string& version) const {
    DEPUTY_ASSIGN_OR_RETURN(const fs::path temporary, MakeTemporary());
    const fs::path made = temporary / link, place = path_ / name / link;
    Status status;
    if (symlink(version.c_str(), made.c_str()) != 0 || rename(made.c_str(), place.c_str()) != 0)
      status = Failed("replace", place);
    std::error_code ignored;
    fs::remove_all(temporary, ignored);
    return status;
  }

  fs::path path_;
  Descriptor lock_;
};

InstalledBundle Describe(const fs::path& root, const std::string& name, const std::string& version) {
  return {name, version, (root / name / version).string(), VersionOf(root / name / kCurrent) == version};
}

// Why there is no such bundle or version; OK if there is.
Status CheckInstalled(const fs::path& root, const std::string& name, const std::string& version) {
  DEPUTY_RETURN_IF_ERROR(CheckName(name));
  if (!version.empty()) DEPUTY_RETURN_IF_ERROR(CheckVersion(version));
  std::error_code ignored;
  if (fs::is_directory(root / name / version, ignored)) return {};
  std::vector<std::string> known;
  const fs::path folder = version.empty() || !fs::is_directory(root / name, ignored) ? root : root / name;
  for (const fs::path& path : FoldersIn(folder)) known.push_back(path.filename().string());
  if (folder == root)
    return Error(StatusCode::kNotFound, "no bundle '{}' is installed{}", name,
                 DidYouMean(name, std::span<const std::string>(known)))
        .At(root.string());
  return Error(StatusCode::kNotFound, "version {} is not installed (installed: {})", version, fmt::join(known, ", "))
      .At(folder.string());
}

// Whether a version is a folder that others can neither change nor replace, and all of its files likewise.
bool IsTrustedVersion(const fs::path& place, const Checksums& checksums) {
  std::error_code error;
  return fs::symlink_status(place, error).type() == fs::file_type::directory && CheckTrusted(place).ok() &&
         std::all_of(checksums.begin(), checksums.end(),
                     [&](const auto& file) { return CheckTrusted(place / file.first).ok(); });
}

// Moves an unpacked bundle to its version. One that is there already is kept if it is the same and intact, exchanged if
// it is damaged, not trusted or has another signature, and a problem if it has other contents.
Status Place(const Root& root, const fs::path& unpacked, const ReadBundle& read, std::vector<BundleProblem>& problems) {
  const fs::path folder = root.path() / read.info.name, place = folder / read.info.version;
  if (mkdir(folder.c_str(), kFolderMode) != 0 && errno != EEXIST) return Failed("create", folder);
  if (chmod(folder.c_str(), kFolderMode) != 0 || chmod(unpacked.c_str(), kFolderMode) != 0)
    return Failed("create", folder);
  std::error_code ignored;
  unsigned flags = 0;
  if (fs::exists(fs::symlink_status(place, ignored))) {
    const Result<ReadBundle> there = ReadBundleFolder(place);
    const bool trusted = there.ok() && IsTrustedVersion(place, there->checksums);
    if (trusted && there->checksums_text != read.checksums_text) {
      problems.push_back(
          {"installed", fmt::format("version {} is installed with other contents; remove it, or give this "
                                    "bundle another version",
                                    read.info.version)});
      return {};
    }
    std::vector<BundleProblem> damage;
    if (trusted) CheckFiles(place, there->checksums, damage);
    if (trusted && damage.empty() && there->signature == read.signature) return {};
    flags = RENAME_EXCHANGE;
  }
  if (renameat2(AT_FDCWD, unpacked.c_str(), AT_FDCWD, place.c_str(), flags) != 0) return Failed("create", place);
  DEPUTY_RETURN_IF_ERROR(FlushFolder(folder));
  return FlushFolder(root.path());
}

// Adds the problem of a version that is lower than the one in use or, without one, than the highest that is installed.
void CheckDowngrade(const fs::path& root, const BundleInfo& info, std::vector<BundleProblem>& problems) {
  const fs::path folder = root / info.name;
  std::string highest = VersionOf(folder / kCurrent);
  const char* state = "in use";
  if (highest.empty()) {
    state = "installed";
    for (const fs::path& path : FoldersIn(folder)) {
      const std::string version = path.filename().string();
      if (CheckVersion(version).ok() && (highest.empty() || CompareVersions(version, highest) > 0)) highest = version;
    }
  }
  if (highest.empty() || CompareVersions(info.version, highest) >= 0) return;
  problems.push_back(
      {"downgrade", fmt::format("version {} is lower than {}, which is {}; --allow-downgrade installs it "
                                "all the same, 'bundle rollback' goes back to an installed one",
                                info.version, highest, state)});
}

}  // namespace

Result<BundleVerification> Install(const fs::path& file, const std::string& key, const fs::path& root_path,
                                   const HostCheck& check, bool allow_downgrade) {
  DEPUTY_ASSIGN_OR_RETURN(const std::optional<PublicKey> parsed, KeyToCheck(key));
  DEPUTY_ASSIGN_OR_RETURN(const Root root, Root::Lock(root_path));
  DEPUTY_ASSIGN_OR_RETURN(const fs::path unpacked, root.MakeTemporary());
  BundleVerification verification;
  Result<ReadBundle> read = Unpack(file, unpacked, /*durable=*/true);
  Status status = read.ok() ? Status() : read.status();
  if (read.ok()) {
    VerifyUnpacked(*read, unpacked, parsed, check, verification);
    verification.info = read->info;
    status = root.CheckBundle(read->info.name);
    if (status.ok() && !allow_downgrade) CheckDowngrade(root.path(), read->info, verification.problems);
    if (status.ok() && verification.problems.empty()) status = Place(root, unpacked, *read, verification.problems);
    if (status.ok() && verification.problems.empty()) status = root.Switch(read->info.name, read->info.version);
  } else if (std::optional<BundleProblem> problem = AsProblem(status)) {
    verification.problems.push_back(*std::move(problem));
    status = Status();
  }
  std::error_code ignored;
  fs::remove_all(unpacked, ignored);  // refused, or what was exchanged
  if (!status.ok()) return status;
  return verification;
}

Result<InstalledBundle> RollBack(const fs::path& root_path, const std::string& name, const std::string& version) {
  DEPUTY_RETURN_IF_ERROR(CheckInstalled(root_path, name, version));
  DEPUTY_ASSIGN_OR_RETURN(const Root root, Root::Lock(root_path));
  DEPUTY_RETURN_IF_ERROR(root.CheckBundle(name));
  const std::string target = version.empty() ? VersionOf(root.path() / name / kPrevious) : version;
  if (target.empty() || (version.empty() && target == VersionOf(root.path() / name / kCurrent)))
    return Error(StatusCode::kFailedPrecondition, "no version of '{}' was in use before", name)
        .Advise("'deputy bundle list' lists the installed ones; name one");
  DEPUTY_RETURN_IF_ERROR(CheckInstalled(root.path(), name, target));
  DEPUTY_RETURN_IF_ERROR(CheckTrusted(root.path() / name / target));
  DEPUTY_RETURN_IF_ERROR(root.Switch(name, target));
  return Describe(root.path(), name, target);
}

Status Remove(const fs::path& root_path, const std::string& name, const std::string& version) {
  DEPUTY_RETURN_IF_ERROR(CheckInstalled(root_path, name, version));
  DEPUTY_ASSIGN_OR_RETURN(const Root root, Root::Lock(root_path));
  DEPUTY_RETURN_IF_ERROR(root.CheckBundle(name));
  const fs::path folder = root.path() / name;
  if (version.empty()) return root.Remove(folder);
  if (VersionOf(folder / kCurrent) == version)
    return Error(StatusCode::kFailedPrecondition, "version {} of '{}' is in use", version, name)
        .Advise("go back to another one first, or remove the whole bundle");
  if (VersionOf(folder / kPrevious) == version && unlink((folder / kPrevious).c_str()) != 0)
    return Failed("remove", folder / kPrevious);
  return root.Remove(folder / version);
}

Result<std::vector<InstalledBundle>> List(const fs::path& root) {
  std::vector<InstalledBundle> bundles;
  for (const fs::path& folder : FoldersIn(root)) {
    if (IsTemporary(folder)) continue;
    for (const fs::path& path : FoldersIn(folder))
      if (CheckVersion(path.filename().string()).ok())
        bundles.push_back(Describe(root, folder.filename().string(), path.filename().string()));
  }
  return bundles;
}

}  // namespace deputy::host::bundle
