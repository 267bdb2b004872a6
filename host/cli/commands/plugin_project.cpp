#include "cli/commands/plugin_project.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>
#include <vector>

#include "deputy/output_file.hpp"

namespace deputy::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTemplateName = "my_npu";
constexpr size_t kLongestName = 40;

// Targets that CMake creates in every project, and the delegate that every host has.
constexpr std::string_view kTaken[] = {
    "all",     "clean",          "cpu",        "edit_cache",    "help", "install", "list_install_components",
    "package", "package_source", "preinstall", "rebuild_cache", "test"};

void ReplaceAll(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

std::string Renamed(std::string text, const std::string& name) {
  ReplaceAll(text, kTemplateName, name);
  ReplaceAll(text, ClassNameOf(std::string(kTemplateName)), ClassNameOf(name));
  return text;
}

Status CannotWrite(const fs::path& path, const std::error_code& error) {
  return Status(StatusCode::kUnavailable, fmt::format("{}: cannot be written: {}", path.string(), error.message()));
}

Status CopyFile(const fs::path& from, const fs::path& to, const std::string& name) {
  std::error_code error;
  fs::create_directories(to.parent_path(), error);
  if (error) return CannotWrite(to.parent_path(), error);
  std::ifstream in(from, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (!in) return Status(StatusCode::kNotFound, fmt::format("{}: cannot be read", from.string()));
  return WriteOutputFile(to.string(), Renamed(text, name));
}

// Copies every file of `folder`; paths are renamed like texts.
Status CopyFolder(const fs::path& folder, const fs::path& target, const std::string& name, size_t* count) {
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (!it->is_regular_file()) continue;
    const Status status =
        CopyFile(it->path(), target / Renamed(it->path().lexically_relative(folder).string(), name), name);
    if (!status.ok()) return status;
    ++*count;
  }
  if (error)
    return Status(StatusCode::kNotFound, fmt::format("{}: the template is missing ({}); was Deputy's SDK installed?",
                                                     folder.string(), error.message()));
  return {};
}

}  // namespace

std::string PluginNameProblem(const std::string& name) {
  const auto allowed = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  if (name.empty() || name[0] < 'a' || name[0] > 'z' || !std::all_of(name.begin(), name.end(), allowed))
    return "a name consists of lowercase letters, digits and '_', and begins with a letter";
  if (name.size() > kLongestName) return fmt::format("a name has at most {} characters", kLongestName);
  if (std::find(std::begin(kTaken), std::end(kTaken), name) != std::end(kTaken)) return "the name is reserved";
  return {};
}

std::string ClassNameOf(const std::string& name) {
  std::string made;
  bool upper = true;
  for (const char c : name) {
    if (c != '_') made += upper && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    upper = c == '_';
  }
  return made;
}

Result<size_t> MakePluginProject(const fs::path& templates, PluginLanguage language, const std::string& name,
                                 const fs::path& place) {
  const fs::path target = place.has_filename() ? place : place.parent_path();  // "out/" is "out"
  const fs::path parts[] = {templates / "common", templates / (language == PluginLanguage::kC ? "c" : "cxx")};
  std::error_code error;
  for (const fs::path& part : parts)
    if (!fs::is_directory(part, error))
      return Status(StatusCode::kNotFound,
                    fmt::format("{}: the template is missing; was Deputy's SDK installed?", part.string()));
  if (fs::exists(fs::symlink_status(target, error)))
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("{}: already exists; give another directory with --dir", target.string()));
  error.clear();
  if (target.has_parent_path()) fs::create_directories(target.parent_path(), error);
  if (error || !fs::create_directory(target, error)) return CannotWrite(target, error);
  size_t count = 0;
  Status status;
  for (const fs::path& part : parts)
    if (status.ok()) status = CopyFolder(part, target, name, &count);
  if (status.ok()) return count;
  fs::remove_all(target, error);
  return status;
}

}  // namespace deputy::cli
