// Bundles, and the texts in them. An input is one of: a tar archive, which is packed and sealed here so that what is in
// it is reached; a bundle as it is; a signature or key in minisign's format; a list of checksums.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/sha256.hpp"
#include "bundle/contents.hpp"
#include "bundle/signature.hpp"
#include "bundle/verify.hpp"
#include "fuzz/target.hpp"
#include "fuzz/temporary_file.hpp"

namespace deputy::fuzz {
namespace {

namespace bundle = host::bundle;

constexpr size_t kBlock = 512, kMostBytes = 32 * 1024;
constexpr size_t kNameSize = 100, kSizeAt = 124, kSizeSize = 12, kSumAt = 148, kSumSize = 8, kTypeAt = 156,
                 kMagicAt = 257;
constexpr std::string_view kUntrusted = "untrusted comment:";

struct Entry {
  std::array<uint8_t, kBlock> head{};
  Bytes content;

  std::string_view name() const {
    const auto text = TextOf(std::span(head).first(kNameSize));
    return text.substr(0, text.find('\0'));
  }
};

bool IsTar(std::span<const uint8_t> input) {
  return input.size() >= kBlock && TextOf(input.subspan(kMagicAt, 5)) == "ustar";
}

void PutOctal(std::span<uint8_t> field, uint64_t value) {
  for (size_t i = field.size() - 1; i-- > 0; value /= 8) field[i] = static_cast<uint8_t>('0' + value % 8);
  field.back() = 0;
}

std::vector<Entry> EntriesOf(std::span<const uint8_t> tar) {
  std::vector<Entry> entries;
  while (tar.size() >= kBlock && tar[0] != 0) {
    Entry entry;
    std::copy_n(tar.begin(), kBlock, entry.head.begin());
    tar = tar.subspan(kBlock);
    uint64_t size = 0;
    for (const uint8_t digit : std::span(entry.head).subspan(kSizeAt, kSizeSize))
      if (digit >= '0' && digit < '8') size = size * 8 + (digit - '0');
    const size_t there = std::min<uint64_t>(size, tar.size());
    entry.content.assign(tar.begin(), tar.begin() + static_cast<std::ptrdiff_t>(there));
    tar = tar.subspan(std::min((there + kBlock - 1) / kBlock * kBlock, tar.size()));
    entries.push_back(std::move(entry));
  }
  return entries;
}

Bytes TarOf(std::vector<Entry>& entries, Random& random) {
  Bytes tar;
  for (Entry& entry : entries) {
    const auto head = std::span(entry.head);
    if (!random.OneIn(32)) PutOctal(head.subspan(kSizeAt, kSizeSize), entry.content.size());
    if (!random.OneIn(32)) {
      std::fill_n(head.begin() + kSumAt, kSumSize, uint8_t{' '});
      uint64_t sum = 0;
      for (const uint8_t byte : head) sum += byte;
      PutOctal(head.subspan(kSumAt, kSumSize - 1), sum);
    }
    tar.insert(tar.end(), head.begin(), head.end());
    tar.insert(tar.end(), entry.content.begin(), entry.content.end());
    tar.resize((tar.size() + kBlock - 1) / kBlock * kBlock);
  }
  tar.resize(tar.size() + 2 * kBlock);
  return tar;
}

// The list of checksums that the files have.
void ListChecksums(std::vector<Entry>& entries) {
  const auto list = std::find_if(entries.begin(), entries.end(),
                                 [](const Entry& entry) { return entry.name() == host::kChecksumsName; });
  if (list == entries.end()) return;
  host::Checksums checksums;
  for (const Entry& entry : entries)
    if (entry.name() != host::kChecksumsName && entry.name() != host::kChecksumsSignatureName)
      checksums[std::string(entry.name())] = host::Sha256().Add(entry.content).Finish();
  list->content = BytesOf(host::ChecksumsText(checksums));
}

constexpr std::string_view kNames[] = {"SHA256SUMS",
                                       "SHA256SUMS.minisig",
                                       "bundle.json",
                                       "config/00-a.yaml",
                                       "models/m.dpm",
                                       "plugins/libnpu.so",
                                       "../x",
                                       "/x",
                                       "models/../../x",
                                       "models//m",
                                       "config/",
                                       ".",
                                       "models/\xc3\xa9",
                                       "models/a\\b",
                                       "plugins/a/b/c/d/e/f/g/h/i",
                                       ""};
constexpr std::string_view kWords[] = {"\"format\":",
                                       "\"name\":",
                                       "\"plugins\":",
                                       "[",
                                       "]",
                                       "{",
                                       "}",
                                       "null",
                                       "1e999",
                                       "-1",
                                       "99999999999999999999",
                                       "\"\\ud800\"",
                                       "\"../x\"",
                                       "  ",
                                       "\n",
                                       "untrusted comment: ",
                                       "trusted comment: ",
                                       "RW",
                                       "==",
                                       "0123456789abcdef"};

void ChangeText(Bytes& text, Random& random) {
  if (random.OneIn(2)) return ChangeBytes(text, random, kMostBytes);
  const std::string_view word = random.Of(kWords);
  text.insert(text.begin() + static_cast<std::ptrdiff_t>(random.Below(text.size() + 1)), word.begin(), word.end());
}

void ChangeEntries(std::vector<Entry>& entries, Random& random) {
  Entry& entry = random.Of(entries);
  const auto place = entries.begin() + static_cast<std::ptrdiff_t>(random.Below(entries.size()));
  switch (random.Below(10)) {
    case 0: entries.erase(place); return;
    case 1: {
      Entry copy = *place;
      entries.insert(place, std::move(copy));
      return;
    }
    case 2: std::swap(entry, *place); return;
    case 3:
    case 4: {
      const std::string_view name = random.Of(kNames);
      std::fill_n(entry.head.begin(), kNameSize, uint8_t{0});
      std::copy(name.begin(), name.end(), entry.head.begin());
      return;
    }
    case 5: entry.head[kTypeAt] = static_cast<uint8_t>("01234567xgLKS\0A"[random.Below(15)]); return;
    case 6: entry.head[random.Below(kBlock)] = static_cast<uint8_t>(random.Next()); return;
    default: return ChangeText(entry.content, random);
  }
}

uint32_t Crc32(std::span<const uint8_t> bytes) {
  uint32_t crc = ~0u;
  for (const uint8_t byte : bytes) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
  }
  return ~crc;
}

// A gzip member without compression, and the seal of host/docs/bundle-format.md.
Bytes Packed(std::span<const uint8_t> tar) {
  constexpr size_t kMostStored = 0xffff;
  Bytes file = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff};
  const auto put = [&file](uint64_t value, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i) file.push_back(static_cast<uint8_t>(value >> (8 * i)));
  };
  for (size_t at = 0; at == 0 || at < tar.size(); at += kMostStored) {
    const size_t size = std::min(kMostStored, tar.size() - at);
    put(at + size == tar.size(), 1);
    put(size, 2);
    put(~size, 2);
    file.insert(file.end(), tar.begin() + static_cast<std::ptrdiff_t>(at),
                tar.begin() + static_cast<std::ptrdiff_t>(at + size));
  }
  put(Crc32(tar), 4);
  put(tar.size(), 4);
  const host::Digest digest = host::Sha256().Add(file).Finish();
  for (const int byte : {0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 0xff, 36, 0, 0x44, 0x53, 32, 0})
    file.push_back(static_cast<uint8_t>(byte));
  file.insert(file.end(), digest.begin(), digest.end());
  put(3, 2);
  put(0, 8);
  return file;
}

void RequireRefusal(const Status& status) {
  Require(!status.message().empty(), "an error has a message", status.ToString());
  Require(status.code() != StatusCode::kInternal && status.code() != StatusCode::kUnknown,
          "a bad input is no internal error", status.ToString());
}

void CheckBundle(std::span<const uint8_t> file) {
  const std::filesystem::path path = TemporaryFolder() / "input.dpb", folder = TemporaryFolder() / "unpacked";
  WriteFile(path, file);
  const Result<bundle::ReadBundle> read = bundle::ReadBundleFile(path);
  if (!read.ok()) RequireRefusal(read.status());
  std::filesystem::create_directory(folder);
  const Result<bundle::ReadBundle> unpacked = bundle::Unpack(path, folder, false);
  if (unpacked.ok()) {
    Require(read.ok(), "a bundle that can be unpacked can be read");
    const Result<bundle::ReadBundle> again = bundle::ReadBundleFolder(folder);
    Require(again.ok(), "an unpacked bundle can be read", again.status().ToString());
    std::vector<BundleProblem> problems;
    bundle::CheckFiles(folder, again->checksums, problems);
    Require(problems.empty(), "an unpacked bundle has the files that it lists");
    Require(bundle::DescriptionText(again->info) == bundle::DescriptionText(read->info),
            "an unpacked bundle has the description of its file");
  } else {
    RequireRefusal(unpacked.status());
  }
  std::filesystem::remove_all(folder);
}

void CheckSignatureText(std::string_view text) {
  if (const auto key = bundle::ParsePublicKey(text); !key.ok()) RequireRefusal(key.status());
  const auto signer = bundle::SignerOf(text);
  if (!signer.ok()) return RequireRefusal(signer.status());
  if (const auto expiry = bundle::ExpiryOf(text); !expiry.ok()) {
    RequireRefusal(expiry.status());
  } else if (*expiry) {
    Require(bundle::ParseDay(bundle::DayText(**expiry)) == *expiry, "a day reads as it was written");
  }
  bundle::PublicKey key;
  key.id = *signer;
  key.key.fill(7);
  Require(!bundle::CheckSignature("text", text, key).ok(), "a key that has not signed is refused");
}

void CheckChecksums(std::string_view text) {
  const Result<host::Checksums> list = host::ParseChecksums(text);
  if (!list.ok()) return RequireRefusal(list.status());
  const Result<host::Checksums> again = host::ParseChecksums(host::ChecksumsText(*list));
  Require(again.ok() && *again == *list, "a list of checksums reads as it was written", host::ChecksumsText(*list));
}

}  // namespace

void MutateInput(Bytes& input, Random& random) {
  if (IsTar(input)) {
    std::vector<Entry> entries = EntriesOf(input);
    if (entries.empty() || random.OneIn(32)) return ChangeBytes(input, random, kMostBytes);
    ChangeEntries(entries, random);
    if (!random.OneIn(4)) ListChecksums(entries);
    Bytes tar = TarOf(entries, random);
    if (tar.size() <= kMostBytes) input = std::move(tar);
    return;
  }
  Bytes changed = input;
  ChangeText(changed, random);
  if (changed.size() <= kMostBytes) input = std::move(changed);
}

void CheckInput(std::span<const uint8_t> input) {
  const std::string_view text = TextOf(input);
  if (IsTar(input)) return CheckBundle(Packed(input));
  if (text.substr(0, 2) == "\x1f\x8b") return CheckBundle(input);
  if (text.substr(0, kUntrusted.size()) == kUntrusted) return CheckSignatureText(text);
  CheckChecksums(text);
}

}  // namespace deputy::fuzz
