// Bundles as files and as unpacked folders.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "base/file.hpp"
#include "base/printable.hpp"
#include "base/sha256.hpp"
#include "bundle/archive.hpp"
#include "bundle/contents.hpp"
#include "bundle/places.hpp"
#include "bundle/tools.hpp"

namespace deputy::host::bundle {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostTextBytes = kMostChecksumBytes;  // of each file that describes the bundle
constexpr mode_t kFileMode = 0644;

Status Failed(const fs::path& path, int error = errno) {
  return Error(StatusCode::kUnavailable, "cannot create: {}", std::strerror(error)).At(path.string());
}

// A new file of a new folder; modes do not depend on the umask.
class NewFile {
 public:
  static Result<std::unique_ptr<NewFile>> Create(const fs::path& path) {
    std::unique_ptr<NewFile> file(
        new NewFile(path, open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kFileMode)));
    if (file->file_.get() < 0 || fchmod(file->file_.get(), kFileMode) != 0) return Failed(path);
    return file;
  }
  Status Write(std::span<const uint8_t> bytes) {
    while (!bytes.empty()) {
      const ssize_t put = write(file_.get(), bytes.data(), bytes.size());
      if (put < 0 && errno == EINTR) continue;
      if (put <= 0) return Failed(path_, put == 0 ? ENOSPC : errno);
      bytes = bytes.subspan(static_cast<size_t>(put));
    }
    return {};
  }
  Status Flush() { return fsync(file_.get()) == 0 ? Status() : Failed(path_); }

 private:
  NewFile(fs::path path, int file) : path_(std::move(path)), file_(file) {}
  fs::path path_;
  Descriptor file_;
};

// Takes the entries of an archive in their order: the list of checksums, its signature, all files of the list.
class Unpacker {
 public:
  // Without a folder nothing is written and no checksum compared.
  Unpacker(ArchiveReader& archive, std::optional<fs::path> folder, bool durable)
      : archive_(archive), folder_(std::move(folder)), durable_(durable) {}

  Result<ReadBundle> Run() {
    for (bool first = true;; first = false) {
      DEPUTY_ASSIGN_OR_RETURN(const std::optional<ArchiveReader::Entry> entry, archive_.Next());
      if (first && (!entry || entry->path != kChecksumsName))
        return Error(StatusCode::kInvalidArgument, "does not begin with {}", kChecksumsName);
      if (!entry) break;
      DEPUTY_RETURN_IF_ERROR(Take(*entry, first));
    }
    if (folder_ && durable_) DEPUTY_RETURN_IF_ERROR(FlushFolders());
    DEPUTY_ASSIGN_OR_RETURN(ReadBundle read,
                            MakeReadBundle(std::move(checksums_text_), std::move(signature_), description_, sizes_));
    for (BundleFile& file : read.info.files)
      if (const auto found = configurations_.find(file.path); found != configurations_.end())
        file.text = std::move(found->second);
    return read;
  }

 private:
  Status Take(const ArchiveReader::Entry& entry, bool first) {
    std::string* text = first                                   ? &checksums_text_
                        : entry.path == kChecksumsSignatureName ? &signature_
                        : entry.path == kBundleDescriptionName  ? &description_
                        : IsConfiguration(entry.path)           ? &configurations_[entry.path]
                                                                : nullptr;
    if (text != nullptr && entry.size > kMostTextBytes)
      return Error(StatusCode::kResourceExhausted, "the file '{}' has {} bytes, more than {}", entry.path, entry.size,
                   kMostTextBytes);
    const bool listed = text != &checksums_text_ && text != &signature_;
    Checksums::const_iterator expected = checksums_.end();
    if (listed) {
      if (!IsPlaceInBundle(entry.path))
        return Error(StatusCode::kFailedPrecondition, "the file '{}' has no place in a bundle", entry.path);
      expected = checksums_.find(entry.path);
      if (expected == checksums_.end())
        return Error(StatusCode::kInvalidArgument, "the file '{}' is not in {}", entry.path, kChecksumsName);
      sizes_.emplace(entry.path, entry.size);
    }
    if (text == nullptr && !folder_) return {};
    std::unique_ptr<NewFile> file;
    if (folder_) {
      DEPUTY_RETURN_IF_ERROR(MakeFolders(entry.path));
      DEPUTY_ASSIGN_OR_RETURN(file, NewFile::Create(*folder_ / entry.path));
    }
    Sha256 sha256;
    DEPUTY_RETURN_IF_ERROR(archive_.Read(entry, [&](std::span<const uint8_t> piece) {
      if (text != nullptr) text->append(piece.begin(), piece.end());
      if (listed) sha256.Add(piece);
      return file ? file->Write(piece) : Status();
    }));
    if (listed && sha256.Finish() != expected->second)
      return Error(StatusCode::kInvalidArgument, "the SHA-256 of '{}' is not the one in {}", entry.path,
                   kChecksumsName);
    if (file && durable_) DEPUTY_RETURN_IF_ERROR(file->Flush());
    if (!first) return {};
    DEPUTY_ASSIGN_OR_RETURN(checksums_, ParseChecksums(checksums_text_));
    return {};
  }

  Status MakeFolders(const std::string& path) {
    for (size_t end = path.find('/'); end != std::string::npos; end = path.find('/', end + 1)) {
      const std::string name = path.substr(0, end);
      if (!folders_.insert(name).second) continue;
      const fs::path made = *folder_ / name;
      if (mkdir(made.c_str(), kFolderMode) != 0 || chmod(made.c_str(), kFolderMode) != 0) return Failed(made);
    }
    return {};
  }

  Status FlushFolders() const {
    for (const std::string& name : folders_) DEPUTY_RETURN_IF_ERROR(FlushFolder(*folder_ / name));
    return FlushFolder(*folder_);
  }

  ArchiveReader& archive_;
  const std::optional<fs::path> folder_;
  const bool durable_;
  std::string checksums_text_, signature_, description_;
  Checksums checksums_;
  std::map<std::string, uint64_t> sizes_;
  std::map<std::string, std::string> configurations_;
  std::set<std::string> folders_;
};

Result<ReadBundle> ReadArchive(const fs::path& file, std::optional<fs::path> folder, bool durable) {
  DEPUTY_ASSIGN_OR_RETURN(const std::unique_ptr<ArchiveReader> archive, ArchiveReader::Open(file));
  return Unpacker(*archive, std::move(folder), durable).Run();
}

// Paths of all files below the folder but the list itself, with their sizes; of links and other kinds, too.
std::map<std::string, uint64_t> FilesBelow(const fs::path& folder) {
  std::map<std::string, uint64_t> sizes;
  std::vector<fs::path> folders = {folder};
  while (!folders.empty()) {
    std::error_code ignored;
    const fs::path last = std::move(folders.back());
    folders.pop_back();
    for (const fs::path& file : PathsIn(last, ignored)) {
      if (fs::symlink_status(file, ignored).type() == fs::file_type::directory) {
        folders.push_back(file);
        continue;
      }
      const std::string path = file.lexically_relative(folder).generic_string();
      if (path == kChecksumsName || path == kChecksumsSignatureName) continue;
      const uintmax_t size = fs::is_regular_file(file, ignored) ? fs::file_size(file, ignored) : 0;
      sizes.emplace(path, ignored ? 0 : size);
    }
  }
  return sizes;
}

}  // namespace

Status FlushFolder(const fs::path& path) {
  const Descriptor folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Some file systems cannot flush folders.
  if (folder.get() < 0 || (fsync(folder.get()) != 0 && errno != EINVAL)) return Failed(path);
  return {};
}

Result<ReadBundle> ReadBundleFile(const fs::path& file) { return ReadArchive(file, std::nullopt, false); }

Result<ReadBundle> Unpack(const fs::path& file, const fs::path& folder, bool durable) {
  return ReadArchive(file, folder, durable);
}

Result<ReadBundle> ReadBundleFolder(const fs::path& folder) {
  DEPUTY_ASSIGN_OR_RETURN(std::string checksums, ReadTextFile(folder / kChecksumsName, kMostTextBytes));
  DEPUTY_ASSIGN_OR_RETURN(const std::string description, ReadTextFile(folder / kBundleDescriptionName, kMostTextBytes));
  Result<std::string> signature = ReadTextFile(folder / kChecksumsSignatureName, kMostTextBytes);
  if (!signature.ok() && signature.status().code() != StatusCode::kNotFound) return std::move(signature).status();
  DEPUTY_ASSIGN_OR_RETURN(ReadBundle read,
                          MakeReadBundle(std::move(checksums), signature.ok() ? *std::move(signature) : "", description,
                                         FilesBelow(folder)));
  for (BundleFile& file : read.info.files) {
    if (!IsConfiguration(file.path)) continue;
    if (Result<std::string> text = ReadTextFile(folder / file.path, kMostTextBytes); text.ok())
      file.text = *std::move(text);
  }
  return read;
}

void CheckFiles(const fs::path& folder, const Checksums& checksums, std::vector<BundleProblem>& problems) {
  for (const auto& [path, digest] : checksums) {
    std::error_code error;
    if (fs::symlink_status(folder / path, error).type() != fs::file_type::regular) {
      problems.push_back({"damaged", "the file '" + path + "' is missing or not a file"});
      continue;
    }
    const Result<std::shared_ptr<const MappedFile>> file = MappedFile::Open(folder / path);
    if (!file.ok()) {
      problems.push_back({"damaged", file.status().ToString()});
    } else if (Sha256().Add((*file)->bytes()).Finish() != digest) {
      problems.push_back({"damaged", "the SHA-256 of '" + path + "' is not the one in " + kChecksumsName});
    }
  }
  for (const auto& [path, size] : FilesBelow(folder))
    if (checksums.count(path) == 0)
      problems.push_back({"damaged", "the file '" + Printable(path) + "' is not in " + kChecksumsName});
}

}  // namespace deputy::host::bundle
