#include "import/onnx/external_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/printable.hpp"

namespace deputy::host::onnx_import {
namespace {

constexpr size_t kLongestLocation = 1024;

Status Refuse(const std::string& location, const char* why) {
  return Error(StatusCode::kModel, "external data '{}' {}", Printable(location), why);
}

Result<std::vector<std::string>> Split(const std::string& location) {
  if (location.empty()) return Refuse(location, "has no location");
  if (location.size() > kLongestLocation) return Refuse(location, "has a location longer than 1024 bytes");
  if (location.front() == '/') return Refuse(location, "is an absolute path; only files beside the model are read");
  if (location.find('\0') != std::string::npos || location.find('\\') != std::string::npos)
    return Refuse(location, "has an invalid location");
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= location.size();) {
    const size_t end = std::min(location.find('/', begin), location.size());
    const std::string part = location.substr(begin, end - begin);
    if (part == "..") return Refuse(location, "points out of the model's folder");
    if (!part.empty() && part != ".") parts.push_back(part);
    begin = end + 1;
  }
  if (parts.empty()) return Refuse(location, "has an invalid location");
  return parts;
}

Status OpenFailed(const std::string& location, int error) {
  if (error == ELOOP) return Refuse(location, "is a symbolic link, which is not allowed");
  const StatusCode code = error == ENOENT ? StatusCode::kNotFound : StatusCode::kUnavailable;
  return Error(code, "external data '{}' cannot be opened: {}", Printable(location), std::strerror(error));
}

}  // namespace

Result<MappedBytes> ExternalFiles::Open(const std::string& location) {
  if (model_.empty())
    return Refuse(location, "cannot be located: the model was loaded from memory")
        .Advise("build from the model's path, or embed the weights");
  const auto known = open_.find(location);
  if (known != open_.end()) return known->second;
  DEPUTY_ASSIGN_OR_RETURN(const std::vector<std::string> parts, Split(location));
  const std::filesystem::path folder = model_.has_parent_path() ? model_.parent_path() : std::filesystem::path(".");
  Descriptor at(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (at.get() < 0) return OpenFailed(location, errno);
  // Name by name: no link is followed, so every name stays below the one before it.
  for (size_t i = 0; i < parts.size(); ++i) {
    const bool last = i + 1 == parts.size();
    struct stat info {};
    if (fstatat(at.get(), parts[i].c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return OpenFailed(location, errno);
    if (S_ISLNK(info.st_mode)) return OpenFailed(location, ELOOP);
    if (!last && !S_ISDIR(info.st_mode)) return OpenFailed(location, ENOTDIR);
    if (last && !S_ISREG(info.st_mode)) return Refuse(location, "is not a regular file");
    const int flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | (last ? O_NONBLOCK : O_DIRECTORY);
    const int next = openat(at.get(), parts[i].c_str(), flags);
    if (next < 0) return OpenFailed(location, errno);
    at.Replace(next);
  }
  // The opened file is checked, not its state at the earlier check.
  struct stat info {};
  if (fstat(at.get(), &info) != 0) return OpenFailed(location, errno);
  if (!S_ISREG(info.st_mode)) return Refuse(location, "is not a regular file");
  if (info.st_nlink > 1)
    return Refuse(location, "has more than one hard link, which is not allowed").Advise("copy the file");
  Result<std::shared_ptr<const MappedFile>> file = MappedFile::Of(std::move(at), access_);
  if (!file.ok()) return std::move(file).status().At("external data '" + Printable(location) + "'");
  const MappedBytes external{(*file)->bytes(), *file, (*file)->descriptor()};
  open_.emplace(location, external);
  return external;
}

std::vector<std::string> ExternalFiles::paths() const {
  std::vector<std::string> paths;
  for (const auto& [location, bytes] : open_) paths.push_back((model_.parent_path() / location).string());
  return paths;
}

std::vector<MappedBytes> ExternalFiles::mapped() const {
  std::vector<MappedBytes> mapped;
  for (const auto& [location, external] : open_) mapped.push_back(external);
  return mapped;
}

}  // namespace deputy::host::onnx_import
