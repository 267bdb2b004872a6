#include "base/checksums.hpp"

#include <algorithm>

#include "base/printable.hpp"

namespace deputy::host {
namespace {

constexpr size_t kLongestPath = 255, kMostFolders = 8;

int NibbleOf(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  return -1;
}

}  // namespace

Status CheckRelativePath(std::string_view path) {
  const auto refuse = [&](const char* why) {
    return Error(StatusCode::kFailedPrecondition, "the path '{}' {}", Printable(path), why);
  };
  if (path.empty() || path.size() > kLongestPath) return refuse("is empty or longer than 255 characters");
  // Backslashes are escapes in a list of sha256sum.
  if (!std::all_of(path.begin(), path.end(), [](char c) { return c >= 0x20 && c < 0x7f && c != '\\'; }))
    return refuse("has characters other than printable ASCII");
  if (path.front() == '/') return refuse("is absolute");
  for (size_t from = 0, folders = 0; from <= path.size(); ++folders) {
    const size_t end = std::min(path.find('/', from), path.size());
    const std::string_view part = path.substr(from, end - from);
    if (part == "..") return refuse("leads out of its folder");
    if (part.empty() || part == ".") return refuse("has an empty part");
    if (folders == kMostFolders) return refuse("has too many folders");
    from = end + 1;
  }
  return {};
}

Result<Checksums> ParseChecksums(std::string_view text) {
  constexpr size_t kDigits = 64;
  Checksums checksums;
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    if (end == std::string_view::npos)
      return Error(StatusCode::kInvalidArgument, "line {} of the list of checksums is incomplete", number);
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    Digest digest;
    // "digest  path", or "digest *path" for binary mode.
    bool good =
        line.size() > kDigits + 2 && line[kDigits] == ' ' && (line[kDigits + 1] == ' ' || line[kDigits + 1] == '*');
    for (size_t i = 0; good && i < digest.size(); ++i) {
      const int high = NibbleOf(line[2 * i]), low = NibbleOf(line[2 * i + 1]);
      good = high >= 0 && low >= 0;
      digest[i] = static_cast<uint8_t>(high << 4 | low);
    }
    if (!good)
      return Error(StatusCode::kInvalidArgument, "line {} of the list of checksums is not 'SHA-256  path'", number);
    std::string_view path = line.substr(kDigits + 2);
    if (path.substr(0, 2) == "./") path.remove_prefix(2);
    DEPUTY_RETURN_IF_ERROR(CheckRelativePath(path));
    if (!checksums.emplace(path, digest).second)
      return Error(StatusCode::kInvalidArgument, "'{}' is twice in the list of checksums", path);
  }
  return checksums;
}

std::string ChecksumsText(const Checksums& checksums) {
  std::string text;
  for (const auto& [path, digest] : checksums) text += HexText(digest) + "  " + path + "\n";
  return text;
}

}  // namespace deputy::host
