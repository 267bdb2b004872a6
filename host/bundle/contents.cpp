#include "bundle/contents.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/printable.hpp"
#include "bundle/places.hpp"
#include "bundle/signature.hpp"
#include "bundle/tools.hpp"
#include "bundle/version.hpp"

namespace deputy::host::bundle {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kLongestName = 64;

bool IsBelow(std::string_view path, std::string_view folder) {
  return path.size() > folder.size() && path.substr(0, folder.size()) == folder && path[folder.size()] == '/';
}

Status BadDescription(std::string_view problem) {
  return Error(StatusCode::kInvalidArgument, "{}: {}", kBundleDescriptionName, problem);
}

// Members of an object; the first one that is missing or of another type is kept as the problem.
class Members {
 public:
  explicit Members(const Json& object) : object_(object) {}

  std::string Text(const char* key) {
    const Json* value = Find(key);
    if (value != nullptr && value->is_string()) return value->get<std::string>();
    Wrong(key, "text");
    return {};
  }
  std::vector<std::string> Texts(const char* key) {
    std::vector<std::string> texts;
    const Json* value = Find(key);
    const bool good = value != nullptr && value->is_array() &&
                      std::all_of(value->begin(), value->end(), [](const Json& item) { return item.is_string(); });
    if (!good) {
      Wrong(key, "a list of texts");
      return texts;
    }
    for (const Json& item : *value) texts.push_back(item.get<std::string>());
    return texts;
  }
  const Json* Find(const char* key) const {
    const auto found = object_.find(key);
    return found == object_.end() ? nullptr : &*found;
  }
  void Wrong(const char* key, const char* expected) {
    if (problem_.empty()) problem_ = fmt::format("'{}' is not {}", key, expected);
  }
  const std::string& problem() const { return problem_; }

 private:
  const Json& object_;
  std::string problem_;
};

Status ReadDescription(std::string_view text, BundleInfo& info) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return BadDescription("is not a JSON object");
  Members members(json);
  const Json* format = members.Find("format");
  if (format == nullptr || !format->is_number_unsigned()) return BadDescription("'format' is not a number");
  if (format->get<uint64_t>() > kFormat)
    return Error(StatusCode::kIncompatible, "has format {}; this Deputy reads format {}", format->get<uint64_t>(),
                 kFormat);
  info.name = members.Text("name");
  info.version = members.Text("version");
  info.deputy = members.Text("deputy");
  info.architecture = members.Text("architecture");
  const Json* plugins = members.Find("plugins");
  if (plugins == nullptr || !plugins->is_array()) members.Wrong("plugins", "a list");
  if (!members.problem().empty()) return BadDescription(members.problem());
  for (const Json& item : *plugins) {
    if (!item.is_object()) return BadDescription("'plugins' is not a list of objects");
    Members plugin(item);
    info.plugins.push_back({plugin.Text("file"), plugin.Text("id"), plugin.Text("version"), plugin.Text("abi"),
                            plugin.Texts("delegates"), plugin.Texts("cpu_features"), plugin.Texts("libraries"),
                            plugin.Texts("files")});
    if (!plugin.problem().empty()) return BadDescription("a plugin: " + plugin.problem());
  }
  if (!CheckName(info.name).ok() || !CheckVersion(info.version).ok())
    return BadDescription("its name or version is not a valid one");
  return {};
}

}  // namespace

Status CheckName(std::string_view name) {
  const bool good = !name.empty() && name.size() <= kLongestName && IsLetter(name.front()) &&
                    std::all_of(name.begin(), name.end(),
                                [](char c) { return IsLetter(c) || IsDigit(c) || c == '_' || c == '-' || c == '.'; });
  if (good) return {};
  return Error(StatusCode::kInvalidArgument,
               "'{}' is not the name of a bundle: letters, digits, '_', '.' and '-', beginning with a letter",
               Printable(name));
}

Status CheckVersion(std::string_view version) {
  const bool good = !version.empty() && version.size() <= kLongestName && IsDigit(version.front()) &&
                    std::all_of(version.begin(), version.end(), [](char c) {
                      return IsLetter(c) || IsDigit(c) || c == '_' || c == '-' || c == '.' || c == '+' || c == '~';
                    });
  if (good) return {};
  return Error(StatusCode::kInvalidArgument,
               "'{}' is not the version of a bundle: letters, digits and '_.+~-', beginning with a digit",
               Printable(version));
}

std::string DescriptionText(const BundleInfo& info) {
  Json plugins = Json::array();
  for (const BundlePlugin& plugin : info.plugins)
    plugins.push_back({{"file", plugin.file},
                       {"id", plugin.id},
                       {"version", plugin.version},
                       {"abi", plugin.abi},
                       {"delegates", plugin.delegates},
                       {"cpu_features", plugin.cpu_features},
                       {"libraries", plugin.libraries},
                       {"files", plugin.files}});
  const Json json = {{"format", kFormat},
                     {"name", info.name},
                     {"version", info.version},
                     {"deputy", info.deputy},
                     {"architecture", info.architecture},
                     {"plugins", std::move(plugins)}};
  return json.dump(2, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace) + "\n";
}

bool IsConfiguration(const std::string& path) { return IsBelow(path, kBundleConfigFolder); }

Result<ReadBundle> MakeReadBundle(std::string checksums_text, std::string signature, std::string_view description,
                                  const std::map<std::string, uint64_t>& sizes) {
  ReadBundle read;
  DEPUTY_ASSIGN_OR_RETURN(read.checksums, ParseChecksums(checksums_text));
  DEPUTY_RETURN_IF_ERROR(ReadDescription(description, read.info));
  if (!signature.empty()) {
    // One that cannot be read is found when it is checked.
    const Result<KeyId> signer = SignerOf(signature);
    read.info.signed_by = signer.ok() ? IdText(*signer) : "an unreadable signature";
    const Result<std::optional<std::chrono::sys_days>> expiry = ExpiryOf(signature);
    if (signer.ok() && !expiry.ok()) read.info.expires = "an unreadable day";
    if (expiry.ok() && *expiry) read.info.expires = DayText(**expiry);
  }
  for (const auto& [path, digest] : read.checksums) {
    const auto size = sizes.find(path);
    if (size == sizes.end()) return Error(StatusCode::kInvalidArgument, "the file '{}' is missing", path);
    if (!IsPlaceInBundle(path))
      return Error(StatusCode::kFailedPrecondition, "the file '{}' has no place in a bundle", path);
    read.info.files.push_back({path, size->second, HexText(digest), {}});
    if (IsConfiguration(path)) read.info.configurations.push_back(path);
    if (IsBelow(path, kBundleModelFolder) && !path.ends_with(kPlacementEnding)) read.info.models.push_back(path);
  }
  for (const auto& [path, size] : sizes)
    if (read.checksums.count(path) == 0)
      return Error(StatusCode::kInvalidArgument, "the file '{}' is not in {}", Printable(path), kChecksumsName);
  read.checksums_text = std::move(checksums_text);
  read.signature = std::move(signature);
  return read;
}

}  // namespace deputy::host::bundle
