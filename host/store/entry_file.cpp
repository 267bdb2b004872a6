#include "store/entry_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/aligned.hpp"
#include "base/file.hpp"
#include "base/file_size_signal.hpp"
#include "base/file_writer.hpp"
#include "base/trust.hpp"

namespace deputy::host {
namespace {

constexpr std::array<char, 8> kMagic = {'D', 'P', 'T', 'Y', 'S', 'T', 'O', 'R'};
constexpr uint32_t kVersion = 1;

// Little-endian, as the machines are that Deputy runs on. The text follows, then zeros up to a multiple of 64, then the
// bytes to the end of the file. Magic, version and checksum are the same in every version of the format.
struct Header {
  std::array<char, 8> magic;
  uint32_t version;
  uint32_t kind;
  uint64_t text_size, size;
  Digest key;
  Digest checksum;  // of the whole file with this field zero
};
static_assert(sizeof(Header) == 96 && std::is_trivially_copyable_v<Header>);

size_t OffsetOfBytes(size_t text_size) { return AlignUp(sizeof(Header) + text_size); }

std::span<const uint8_t> BytesOf(const Header& header) {
  return {reinterpret_cast<const uint8_t*>(&header), sizeof header};
}

Status System(const char* failure) { return Error(StatusCode::kUnavailable, "{}: {}", failure, std::strerror(errno)); }

struct OpenEntry {
  std::unique_ptr<const Descriptor> file;
  uint64_t size = 0;
};

Result<OpenEntry> Open(int folder, EntryKind kind, const Digest& key, uint64_t limit) {
  OpenEntry opened;
  opened.file = std::make_unique<const Descriptor>(
      openat(folder, EntryFileName(kind, key).c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (opened.file->get() < 0) {
    if (errno == ENOENT || errno == ENOTDIR) return Status(StatusCode::kNotFound, "does not exist");
    if (errno == ELOOP) return Status(StatusCode::kModel, "is a symbolic link, not a regular file");
    return System("cannot be opened");
  }
  struct stat about {};
  if (fstat(opened.file->get(), &about) != 0) return System("cannot be inspected");
  if (!S_ISREG(about.st_mode)) return Error(StatusCode::kModel, "is {}, not a regular file", KindOfFile(about.st_mode));
  // Bytes that a driver will trust: only this user or root may have written them.
  if (const std::string why = ReasonForDistrust(about, opened.file->get()); !why.empty())
    return Error(StatusCode::kModel, "{}", why);
  opened.size = static_cast<uint64_t>(about.st_size);
  if (opened.size < sizeof(Header) || opened.size > limit)
    return Error(StatusCode::kModel, "has {} bytes, expected {} to {}", opened.size, sizeof(Header), limit);
  return opened;
}

Status ReadInto(int fd, std::span<uint8_t> to) {
  while (!to.empty()) {
    const ssize_t got = read(fd, to.data(), to.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return System("cannot be read");
    if (got == 0) return Status(StatusCode::kModel, "was truncated while it was read");
    to = to.subspan(static_cast<size_t>(got));
  }
  return {};
}

Status CheckVersion(const Header& header) {
  if (header.version != kVersion)
    return Error(StatusCode::kNotSupported, "has version {} of the format, expected {}", header.version, kVersion);
  return {};
}

// Of a header of this version: the sizes, and that the file has not been renamed.
Status CheckFields(const Header& header, EntryKind kind, const Digest& key, uint64_t file_size) {
  if (header.kind != static_cast<uint32_t>(kind))
    return Error(StatusCode::kModel, "has kind {}, expected {}", header.kind, static_cast<uint32_t>(kind));
  if (header.key != key) return Error(StatusCode::kModel, "belongs to key {}", HexText(header.key));
  if (header.text_size > kMaxEntryText || OffsetOfBytes(static_cast<size_t>(header.text_size)) > file_size ||
      header.size != file_size - OffsetOfBytes(static_cast<size_t>(header.text_size)))
    return Error(StatusCode::kModel, "has sizes {} and {} in its header, which do not fit a file of {} bytes",
                 header.text_size, header.size, file_size);
  return {};
}

}  // namespace

std::string_view NameOf(EntryKind kind) {
  switch (kind) {
    case EntryKind::kBlob: return "blob";
    case EntryKind::kVerdict: return "verdict";
    case EntryKind::kPlacement: return "placement";
    case EntryKind::kCosts: return "costs";
    case EntryKind::kModel: return "model";
    case EntryKind::kProbe: return "probe";
    case EntryKind::kQuarantine: return "quarantine";
    case EntryKind::kFaults: return "faults";
  }
  return "?";
}

std::string EntryFileName(EntryKind kind, const Digest& key) { return HexText(key).append(".").append(NameOf(kind)); }

std::optional<std::pair<EntryKind, Digest>> ParseEntryFileName(std::string_view name) {
  Digest key{};
  if (name.size() < 2 * key.size()) return std::nullopt;
  for (size_t i = 0; i < 2 * key.size(); ++i) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    const size_t digit = kDigits.find(name[i]);
    if (digit == std::string_view::npos) return std::nullopt;
    key[i / 2] = static_cast<uint8_t>(key[i / 2] * 16u + digit);
  }
  name.remove_prefix(2 * key.size());
  for (const EntryKind kind : kEntryKinds)
    if (name.starts_with('.') && name.substr(1) == NameOf(kind)) return std::pair(kind, key);
  return std::nullopt;
}

uint64_t EntryFileSize(std::string_view text, std::span<const uint8_t> bytes) {
  return uint64_t{OffsetOfBytes(text.size())} + bytes.size();
}

Status WriteEntry(int folder, EntryKind kind, const Digest& key, std::string_view text,
                  std::span<const uint8_t> bytes) {
  if (text.size() > kMaxEntryText)
    return Error(StatusCode::kInvalidArgument, "the text of an entry must be at most {} bytes, got {}", kMaxEntryText,
                 text.size());
  Header header{kMagic, kVersion, static_cast<uint32_t>(kind), text.size(), bytes.size(), key, {}};
  std::vector<uint8_t> padded(OffsetOfBytes(text.size()) - sizeof header);
  std::copy(text.begin(), text.end(), padded.begin());
  header.checksum = Digester().Add(BytesOf(header)).Add(padded).Add(bytes).Finish();
  const std::span<const uint8_t> pieces[] = {BytesOf(header), padded, bytes};
  const FileSizeSignalBlock block;  // an entry that has no room is only not kept
  // A flush takes milliseconds, and an entry that a loss of power damages is only made again.
  return WriteFileIn(folder, EntryFileName(kind, key), pieces, /*flush=*/false);
}

// The whole file is copied into memory of its own: a mapping would change with the file, or fault when it is truncated.
Result<StoredEntry> ReadEntry(int folder, EntryKind kind, const Digest& key, uint64_t limit) {
  DEPUTY_ASSIGN_OR_RETURN(const OpenEntry opened, Open(folder, kind, key, limit));
  const auto size = static_cast<size_t>(opened.size);
  const std::shared_ptr<uint8_t> memory = AllocateAligned(size);
  if (memory == nullptr) return Error(StatusCode::kResourceExhausted, "no memory for {} bytes", size);
  DEPUTY_RETURN_IF_ERROR(ReadInto(opened.file->get(), {memory.get(), size}));
  Header header;
  std::memcpy(&header, memory.get(), sizeof header);
  if (header.magic != kMagic) return Status(StatusCode::kModel, "is not an entry of the cache");
  const Digest checksum = std::exchange(header.checksum, {});
  if (Digester().Add(BytesOf(header)).Add({memory.get() + sizeof header, size - sizeof header}).Finish() != checksum)
    return Status(StatusCode::kModel, "is damaged: its checksum does not match");
  DEPUTY_RETURN_IF_ERROR(CheckVersion(header));
  DEPUTY_RETURN_IF_ERROR(CheckFields(header, kind, key, opened.size));
  auto [text, origin] =
      SplitOrigin({reinterpret_cast<const char*>(memory.get() + sizeof header), static_cast<size_t>(header.text_size)});
  return StoredEntry{
      std::move(text),
      {memory.get() + OffsetOfBytes(static_cast<size_t>(header.text_size)), static_cast<size_t>(header.size)},
      memory,
      std::move(origin)};
}

Result<std::string> ReadEntryText(int folder, EntryKind kind, const Digest& key, uint64_t limit) {
  DEPUTY_ASSIGN_OR_RETURN(const OpenEntry opened, Open(folder, kind, key, limit));
  Header header;
  DEPUTY_RETURN_IF_ERROR(ReadInto(opened.file->get(), {reinterpret_cast<uint8_t*>(&header), sizeof header}));
  if (header.magic != kMagic) return Status(StatusCode::kModel, "is not an entry of the cache");
  DEPUTY_RETURN_IF_ERROR(CheckVersion(header));
  DEPUTY_RETURN_IF_ERROR(CheckFields(header, kind, key, opened.size));
  std::string text(static_cast<size_t>(header.text_size), '\0');
  DEPUTY_RETURN_IF_ERROR(ReadInto(opened.file->get(), {reinterpret_cast<uint8_t*>(text.data()), text.size()}));
  return text;
}

}  // namespace deputy::host
