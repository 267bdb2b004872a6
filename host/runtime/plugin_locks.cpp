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

}  // namespace

LockAnswer PluginLocks::LookUp(const fs::path& folder, const std::string& name, const ByteSource& bytes) {
  const Lock& lock = LockOf(folder);
  if (!lock.problem.empty()) return {lock.file, lock.problem};
  const auto listed = lock.checksums.find(lock.prefix + name);
  if (listed == lock.checksums.end())
    return {lock.file, fmt::format("{} is not listed in {}", lock.prefix + name, lock.file.string())};
  const std::optional<Digest> digest = DigestOf(bytes);
  if (!digest) return {lock.file, "cannot be read"};
  if (*digest != listed->second)
    return {lock.file, fmt::format("its SHA-256 is not the one in {}", lock.file.string())};
  return {lock.file, ""};
}

const PluginLocks::Lock& PluginLocks::LockOf(const fs::path& folder) {
  const auto [found, is_new] = locks_.try_emplace(folder);
  Lock& lock = found->second;
  if (!is_new) return lock;
  std::error_code error;
  const fs::path place = fs::canonical(folder, error);
  lock = ReadLock(place / kChecksumsName, /*of_bundle=*/false);
  if (lock.file.empty() && place.filename() == kBundlePluginFolder)
    lock = ReadLock(place.parent_path() / kChecksumsName, /*of_bundle=*/true);
  if (lock.file.empty()) lock.problem = fmt::format("{} has no lock ({})", place.string(), kChecksumsName);
  return lock;
}

// Without a file if there is none.
PluginLocks::Lock PluginLocks::ReadLock(const fs::path& file, bool of_bundle) const {
  Lock lock;
  const Result<std::string> text = ReadTrustedFile(file, kMostChecksumBytes, {.strict = true});
  if (!text.ok() && text.status().code() == StatusCode::kNotFound) return lock;
  if (of_bundle) lock.prefix = std::string(kBundlePluginFolder) + "/";
  Result<Checksums> checksums = text.ok() ? ParseChecksums(*text) : text.status();
  if (checksums.ok() && of_bundle && !checksums->contains(kBundleDescriptionName)) return Lock();
  lock.file = file;
  if (!checksums.ok()) {
    lock.problem = text.ok() ? std::move(checksums).status().At(file.string()).ToString() : text.status().ToString();
    return lock;
  }
  lock.checksums = std::move(checksums).value();
  if (!keys_.empty()) lock.problem = SignatureProblem(file, *text);
  return lock;
}

std::string PluginLocks::SignatureProblem(const fs::path& lock, const std::string& text) const {
  const fs::path path = lock.parent_path() / kChecksumsSignatureName;
  const Result<std::string> signature = ReadTextFile(path, kMostChecksumBytes);
  if (!signature.ok()) return fmt::format("{}: is not signed, which 'trust_keys' requires", lock.string());
  const Result<const BundleTools*> tools = OpenBundleTools();
  if (!tools.ok()) return tools.status().ToString();
  const Status status = (*tools)->CheckSignature(text, *signature, keys_);
  return status.ok() ? "" : fmt::format("{}: {}", lock.string(), status.ToString());
}

}  // namespace deputy::host
