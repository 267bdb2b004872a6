#include "bundle/archive.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/checksums.hpp"
#include "base/file_writer.hpp"
#include "base/printable.hpp"
#include "base/sha256.hpp"

namespace deputy::host::bundle {
namespace {

namespace fs = std::filesystem;

constexpr size_t kPiece = size_t{1} << 18;
constexpr time_t kFileTime = 315532800;  // 1980-01-01, the beginning of time for zip; GNU tar warns of 1970

// An empty gzip member whose extra field "DS" is the SHA-256 of all bytes before it: gzip and tar ignore it.
constexpr size_t kSealBytes = 58;
std::array<uint8_t, kSealBytes> SealOf(const Digest& digest) {
  constexpr std::array<uint8_t, 16> kHead = {0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 0xff, 36, 0, 'D', 'S', 32, 0};
  std::array<uint8_t, kSealBytes> seal{};
  auto end = std::copy(kHead.begin(), kHead.end(), seal.begin());
  end = std::copy(digest.begin(), digest.end(), end);
  *end = 3;  // an empty deflate block; its checksum and size are zeros
  return seal;
}

struct FreeArchive {
  void operator()(::archive* archive) const { archive_free(archive); }
};
struct FreeEntry {
  void operator()(archive_entry* entry) const { archive_entry_free(entry); }
};

struct Output {
  int file;
  Sha256 sha256;
};

la_ssize_t WritePiece(::archive* archive, void* client, const void* data, size_t size) {
  auto& output = *static_cast<Output*>(client);
  const ssize_t put = write(output.file, data, size);
  if (put < 0) {
    archive_set_error(archive, errno, "%s", std::strerror(errno));
    return -1;
  }
  output.sha256.Add({static_cast<const uint8_t*>(data), static_cast<size_t>(put)});
  return put;
}

Status Failed(::archive* archive) {
  const char* text = archive_error_string(archive);
  return Error(StatusCode::kUnavailable, "cannot write: {}", text == nullptr ? "unknown error" : text);
}

Status WriteTo(Output& output, std::span<const ArchiveFile> files) {
  const std::unique_ptr<::archive, FreeArchive> archive(archive_write_new());
  const std::unique_ptr<archive_entry, FreeEntry> entry(archive_entry_new());
  if (archive == nullptr || entry == nullptr) return Status(StatusCode::kResourceExhausted, "out of memory");
  archive_write_set_format_pax_restricted(archive.get());
  archive_write_add_filter_gzip(archive.get());
  archive_write_set_options(archive.get(), "gzip:compression-level=6,gzip:!timestamp");
  archive_write_set_bytes_in_last_block(archive.get(), 1);
  if (archive_write_open(archive.get(), &output, nullptr, WritePiece, nullptr) != ARCHIVE_OK)
    return Failed(archive.get());
  for (const ArchiveFile& file : files) {
    archive_entry_clear(entry.get());
    archive_entry_set_pathname(entry.get(), file.path.c_str());
    archive_entry_set_size(entry.get(), static_cast<la_int64_t>(file.bytes.size()));
    archive_entry_set_filetype(entry.get(), AE_IFREG);
    archive_entry_set_perm(entry.get(), 0644);
    archive_entry_set_mtime(entry.get(), kFileTime, 0);
    archive_entry_set_uname(entry.get(), "root");
    archive_entry_set_gname(entry.get(), "root");
    if (archive_write_header(archive.get(), entry.get()) != ARCHIVE_OK) return Failed(archive.get());
    for (std::span<const uint8_t> rest = file.bytes; !rest.empty();) {
      const la_ssize_t put = archive_write_data(archive.get(), rest.data(), std::min(rest.size(), kPiece));
      if (put <= 0) return Failed(archive.get());
      rest = rest.subspan(static_cast<size_t>(put));
    }
  }
  return archive_write_close(archive.get()) == ARCHIVE_OK ? Status() : Failed(archive.get());
}

// A file without a name beside the output: on the disk, not in memory, and gone with its descriptor.
int OpenNameless(const fs::path& folder) {
  const int file = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file >= 0) return file;
  std::string name = (folder / (std::string(kTemporaryPrefix) + "XXXXXX")).string();
  const int named = mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) unlink(name.c_str());
  return named;
}

}  // namespace

Status WriteArchive(std::span<const ArchiveFile> files, const fs::path& output) {
  const fs::path parent = output.parent_path();
  const Descriptor file(OpenNameless(parent.empty() ? "." : parent));
  if (file.get() < 0)
    return Error(StatusCode::kUnavailable, "cannot create: {}", std::strerror(errno)).At(output.string());
  Output packed{file.get(), {}};
  if (Status status = WriteTo(packed, files); !status.ok()) return std::move(status).At(output.string());
  DEPUTY_ASSIGN_OR_RETURN(const std::shared_ptr<const MappedFile> bytes,
                          MappedFile::Open(fmt::format("/proc/self/fd/{}", file.get())));
  const auto seal = SealOf(packed.sha256.Finish());
  const std::span<const uint8_t> pieces[] = {bytes->bytes(), seal};
  return WriteFileAtomically(output, pieces);
}

ArchiveReader::ArchiveReader(std::shared_ptr<const MappedFile> file)
    : file_(std::move(file)), archive_(archive_read_new()) {}

ArchiveReader::~ArchiveReader() { archive_read_free(archive_); }

Status ArchiveReader::Damaged() const {
  const char* text = archive_error_string(archive_);
  return Error(StatusCode::kInvalidArgument, "is damaged: {}", Printable(text == nullptr ? "unknown error" : text));
}

Result<std::unique_ptr<ArchiveReader>> ArchiveReader::Open(const fs::path& path) {
  DEPUTY_ASSIGN_OR_RETURN(std::shared_ptr<const MappedFile> file, MappedFile::Open(path));
  const std::span<const uint8_t> bytes = file->bytes();
  constexpr uint8_t kGzip[] = {0x1f, 0x8b};
  if (bytes.size() <= kSealBytes || !std::equal(std::begin(kGzip), std::end(kGzip), bytes.begin()))
    return Status(StatusCode::kInvalidArgument, "is not a bundle");
  const std::span<const uint8_t> packed = bytes.first(bytes.size() - kSealBytes);
  const auto seal = SealOf(Sha256().Add(packed).Finish());
  if (!std::equal(seal.begin(), seal.end(), bytes.end() - kSealBytes))
    return Status(StatusCode::kInvalidArgument, "is damaged: its SHA-256 is not the one at its end");
  std::unique_ptr<ArchiveReader> reader(new ArchiveReader(std::move(file)));
  if (reader->archive_ == nullptr) return Status(StatusCode::kResourceExhausted, "out of memory");
  archive_read_support_filter_gzip(reader->archive_);
  archive_read_support_format_tar(reader->archive_);
  if (archive_read_open_memory(reader->archive_, packed.data(), packed.size()) != ARCHIVE_OK) return reader->Damaged();
  return reader;
}

Result<std::optional<ArchiveReader::Entry>> ArchiveReader::Next() {
  archive_entry* header = nullptr;
  const int read = archive_read_next_header(archive_, &header);
  if (read == ARCHIVE_EOF) return std::optional<Entry>();
  // A warning, too, is a mark of another writer: of characters outside of ASCII, for one.
  const char* path = read == ARCHIVE_OK || read == ARCHIVE_WARN ? archive_entry_pathname(header) : nullptr;
  if (read != ARCHIVE_OK && read != ARCHIVE_WARN) return Damaged();
  if (path == nullptr)
    return Status(StatusCode::kFailedPrecondition, "the path of an entry has characters other than printable ASCII");
  Entry entry{path, 0};
  DEPUTY_RETURN_IF_ERROR(CheckRelativePath(entry.path));
  if (read != ARCHIVE_OK) return Damaged();
  if (archive_entry_filetype(header) != AE_IFREG || archive_entry_hardlink(header) != nullptr ||
      archive_entry_symlink(header) != nullptr || archive_entry_sparse_count(header) != 0)
    return Error(StatusCode::kFailedPrecondition, "the entry '{}' is a link, folder or device, not a file", entry.path);
  if (seen_.size() == kMostFiles) return Error(StatusCode::kResourceExhausted, "has more than {} files", kMostFiles);
  if (std::find(seen_.begin(), seen_.end(), entry.path) != seen_.end())
    return Error(StatusCode::kFailedPrecondition, "the entry '{}' is there twice", entry.path);
  seen_.push_back(entry.path);
  if (archive_entry_size_is_set(header) == 0 || archive_entry_size(header) < 0)
    return Error(StatusCode::kInvalidArgument, "the entry '{}' has no size", entry.path);
  entry.size = static_cast<uint64_t>(archive_entry_size(header));
  if (entry.size > kMostBytes - bytes_)
    return Error(StatusCode::kResourceExhausted, "has files of more than {} bytes together", kMostBytes);
  bytes_ += entry.size;
  return std::optional(std::move(entry));
}

Status ArchiveReader::Read(const Entry& entry, const std::function<Status(std::span<const uint8_t>)>& take) {
  std::vector<uint8_t> piece(std::min<uint64_t>(entry.size, kPiece));
  for (uint64_t left = entry.size; left != 0;) {
    const la_ssize_t got = archive_read_data(archive_, piece.data(), std::min<uint64_t>(left, piece.size()));
    if (got < 0) return Damaged();
    if (got == 0) return Error(StatusCode::kInvalidArgument, "is damaged: the entry '{}' is truncated", entry.path);
    DEPUTY_RETURN_IF_ERROR(take(std::span(piece).first(static_cast<size_t>(got))));
    left -= static_cast<uint64_t>(got);
  }
  return {};
}

}  // namespace deputy::host::bundle
