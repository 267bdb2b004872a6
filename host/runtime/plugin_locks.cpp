#include "runtime/plugin_locks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/file.hpp"
#include "base/judged_file.hpp"
#include "base/sha256.hpp"
#include "runtime/bundle_tools.hpp"

namespace deputy::host {
namespace {

namespace fs = std::filesystem;

// Nothing if it cannot be read to its end.
std::optional<Digest> DigestOf(const ByteSource& bytes) {
  Sha256 sha256;
  std::vector<uint8_t> piece(std::min<uint64_t>(bytes.size(), uint64_t{1} << 16));
  for (uint64_t at = 0; at < bytes.size(); at += piece.size()) {
    piece.resize(std::min<uint64_t>(piece.size(), bytes.size() - at));
    if (!bytes.Read(at, piece.data(), piece.size())) return std::nullopt;
    sha256.Add(piece);
  }
  return sha256.Finish();
}

// What a file is said to be missing in: the list, or the folder of lists that it is in.
fs::path PlaceOf(const fs::path& list) { return list.extension() == kChecksumsEnding ? list.parent_path() : list; }

}  // namespace

LockAnswer PluginLocks::LookUp(const fs::path& folder, const std::string& name, const ByteSource& bytes) {
  const Lock& lock = LockOf(folder);
  if (lock.lists.empty()) return {{}, fmt::format("{} has no lock ({})", lock.folder.string(), kChecksumsName)};
  const std::string path = lock.prefix + name;
  const List *other = nullptr, *bad = nullptr;  // the first with another SHA-256, and the first that does not count
  std::optional<Digest> digest;
  for (const List& list : lock.lists) {
    if (!list.problem.empty()) {
      if (bad == nullptr) bad = &list;
      continue;
    }
    const auto listed = list.checksums->find(path);
    if (listed == list.checksums->end()) continue;
    if (!digest) digest = DigestOf(bytes);
    if (!digest) return {list.file, "cannot be read"};
    if (*digest == listed->second) return {list.file, ""};
    if (other == nullptr) other = &list;
  }
  // A list that does not count may be the one that has the file.
  if (bad != nullptr) return {bad->file, bad->problem};
  if (other != nullptr) return {other->file, fmt::format("its SHA-256 is not the one in {}", other->file.string())};
  const fs::path first = PlaceOf(lock.lists.front().file), last = PlaceOf(lock.lists.back().file);
  return {last, fmt::format("{} is not listed in {}{}", path, last.string(),
                            first == last ? "" : ", nor in " + first.string())};
}

const PluginLocks::Lock& PluginLocks::LockOf(const fs::path& folder) {
  const auto [found, is_new] = locks_.try_emplace(folder);
  Lock& lock = found->second;
  if (!is_new) return lock;
  std::error_code error;
  lock.folder = fs::canonical(folder, error);
  AddList(lock.folder / kChecksumsName, lock.lists);
  AddListsIn(lock.folder / kChecksumsFolderName, lock.lists);
  if (lock.lists.empty() && lock.folder.filename() == kBundlePluginFolder) {
    AddList(lock.folder.parent_path() / kChecksumsName, lock.lists);
    lock.prefix = std::string(kBundlePluginFolder) + "/";
    // Any other folder above has no say.
    if (!lock.lists.empty() && lock.lists[0].checksums && !lock.lists[0].checksums->contains(kBundleDescriptionName))
      lock.lists.clear();
  }
  return lock;
}

// None if the file does not exist.
void PluginLocks::AddList(const fs::path& file, std::vector<List>& lists) const {
  const Result<std::string> text = ReadTrustedFile(file, kMostChecksumBytes, {.strict = true});
  if (!text.ok() && text.status().code() == StatusCode::kNotFound) return;
  List& list = lists.emplace_back();
  list.file = file;
  if (!text.ok()) {
    list.problem = text.status().ToString();
    return;
  }
  Result<Checksums> checksums = ParseChecksums(*text);
  if (!checksums.ok()) {
    list.problem = std::move(checksums).status().At(file.string()).ToString();
    return;
  }
  list.checksums = std::move(checksums).value();
  if (!keys_.empty()) list.problem = SignatureProblem(file, *text);
}

// None if the folder does not exist. Of one that others may add to, no list is read.
void PluginLocks::AddListsIn(const fs::path& folder, std::vector<List>& lists) const {
  std::error_code error;
  if (fs::symlink_status(folder, error).type() == fs::file_type::not_found) return;
  if (Status trusted = CheckTrusted(folder); !trusted.ok()) {
    lists.push_back({folder, {}, std::move(trusted).At(folder.string()).ToString()});
    return;
  }
  for (const fs::path& file : PathsIn(folder, error))
    if (file.extension() == kChecksumsEnding) AddList(file, lists);
  if (error) lists.push_back({folder, {}, fmt::format("{}: cannot list: {}", folder.string(), error.message())});
}

std::string PluginLocks::SignatureProblem(const fs::path& list, const std::string& text) const {
  const fs::path path = list.string() + kSignatureEnding;
  const Result<std::string> signature = ReadTextFile(path, kMostChecksumBytes);
  if (!signature.ok()) return fmt::format("{}: is not signed, which 'trust_keys' requires", list.string());
  const Result<const BundleTools*> tools = OpenBundleTools();
  if (!tools.ok()) return tools.status().ToString();
  const Status status = (*tools)->CheckSignature(text, *signature, keys_);
  return status.ok() ? "" : fmt::format("{}: {}", list.string(), status.ToString());
}

}  // namespace deputy::host
