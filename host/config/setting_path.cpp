#include "config/setting_path.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "config/origin.hpp"
#include "config/reader.hpp"
#include "config/scalar.hpp"
#include "config/text_check.hpp"

namespace deputy::host {
namespace {

std::vector<std::string> SplitAtDots(std::string_view path) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('.', begin), path.size());
    parts.emplace_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

size_t NameLength(std::string_view rest, std::span<const std::string> delegates) {
  size_t best = 0;
  for (const std::string& name : delegates) {
    const bool fits = rest.substr(0, name.size()) == name && (rest.size() == name.size() || rest[name.size()] == '.');
    if (fits) best = std::max(best, name.size());
  }
  return best > 0 ? best : std::min(rest.find('.'), rest.size());
}

bool StartsWithKeys(const std::vector<std::string>& parts, size_t from, std::span<const std::string_view> keys) {
  if (parts.size() < from + keys.size()) return false;
  return std::equal(keys.begin(), keys.end(), parts.begin() + static_cast<std::ptrdiff_t>(from));
}

// Joins the keys after a mapping whose keys are the writer's own.
void JoinFreeNames(std::vector<std::string>& parts) {
  constexpr std::array<std::string_view, 2> kLog = {"log", "delegates"};
  constexpr std::array<std::string_view, 1> kOptions = {"options"};
  size_t keep = 0;
  if (StartsWithKeys(parts, 0, kLog)) keep = 2;
  if (parts[0] == "delegates" && StartsWithKeys(parts, 2, kOptions)) keep = 3;
  if (keep == 0 || parts.size() <= keep + 1) return;
  for (size_t i = keep + 1; i < parts.size(); ++i) parts[keep] += "." + parts[i];
  parts.resize(keep + 1);
}

std::vector<std::string> SplitPath(std::string_view path, std::span<const std::string> delegates) {
  constexpr std::string_view kDelegates = "delegates.";
  std::vector<std::string> parts;
  if (path.substr(0, kDelegates.size()) == kDelegates) {
    const std::string_view rest = path.substr(kDelegates.size());
    const size_t length = NameLength(rest, delegates);
    parts = {"delegates", std::string(rest.substr(0, length))};
    if (length < rest.size())
      for (std::string& part : SplitAtDots(rest.substr(length + 1))) parts.push_back(std::move(part));
  } else {
    parts = SplitAtDots(path);
  }
  JoinFreeNames(parts);
  return parts;
}

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

YamlNode MapOf(const Origin& at) {
  YamlNode map;
  map.kind = YamlNode::Kind::kMap;
  map.at = at;
  return map;
}

YamlNode ScalarOf(std::string text, const Origin& at) {
  YamlNode scalar;
  scalar.kind = YamlNode::Kind::kScalar;
  scalar.text = std::move(text);
  scalar.at = at;
  return scalar;
}

std::optional<YamlNode> ParseValue(std::string_view value, const Origin& at, Problems& problems) {
  if (std::string_view("[{\"'").find(value.front()) != std::string_view::npos)
    return ReadYaml(value, at.source, /*lines=*/false, problems);
  YamlNode scalar = ScalarOf(std::string(value), at);
  scalar.quoted = !IsPlainScalar(value);
  if (!scalar.quoted && IsNullWord(value)) scalar.kind = YamlNode::Kind::kNull;
  return scalar;
}

}  // namespace

std::optional<YamlNode> MakeSetting(std::string_view path, std::string_view value, const std::string& source,
                                    std::span<const std::string> delegates, Problems& problems) {
  const Origin at{source, 0, 0};
  value = Trimmed(value);
  const std::vector<std::string> parts = SplitPath(path, delegates);
  if (std::any_of(parts.begin(), parts.end(), [](const std::string& part) { return part.empty(); })) {
    problems.Add(at, "the path must be keys with dots between them, such as delegates.npu0.options.frequency");
    return std::nullopt;
  }
  if (value.empty()) {
    problems.Add(at, "there is no value after '='; write \"\" for an empty text");
    return std::nullopt;
  }
  if (path.size() + value.size() > kMostConfigBytes) {
    problems.Add(at, "this is too long");
    return std::nullopt;
  }
  Problems unreadable;
  CheckText(path, LineIndex(path, source, /*lines=*/false), unreadable);
  CheckText(value, LineIndex(value, source, /*lines=*/false), unreadable);
  if (!unreadable.empty()) {
    problems.Add(at, unreadable.list().front().message, ProblemCode::kSyntax);
    return std::nullopt;
  }
  std::optional<YamlNode> node = ParseValue(value, at, problems);
  if (!node) return std::nullopt;

  if (parts.size() > kMostConfigDepth) {
    problems.Add(at, "the path is nested too deep");
    return std::nullopt;
  }
  for (size_t i = parts.size(); i-- > 0;) {
    if (i == 1 && parts[0] == "delegates") {
      if (node->kind != YamlNode::Kind::kMap) {
        problems.Add(at, "a delegate is a mapping, such as {enabled: false}; one of its keys is set with " +
                             Quoted("delegates." + parts[1] + ".KEY"));
        return std::nullopt;
      }
      if (node->Find("name") != nullptr) {
        problems.Add(at, "the name of a delegate is its address and cannot be set");
        return std::nullopt;
      }
      node->entries.insert(node->entries.begin(), {"name", at, ScalarOf(parts[1], at)});
      YamlNode list;
      list.kind = YamlNode::Kind::kList;
      list.at = at;
      list.items.push_back(std::move(*node));
      node = std::move(list);
      continue;
    }
    YamlNode map = MapOf(at);
    map.entries.push_back({parts[i], at, std::move(*node)});
    node = std::move(map);
  }
  return node;
}

}  // namespace deputy::host
