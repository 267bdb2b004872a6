#include "config/field_reader.hpp"

#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "base/nearest.hpp"
#include "base/worker_environment.hpp"
#include "config/origin.hpp"

namespace deputy::host {
namespace {

// The path without ".", and without ".." but behind a symbolic link, where that leads to the folder above the link's
// target and not back.
std::filesystem::path WithoutDots(const std::filesystem::path& path) {
  std::filesystem::path shorter;
  for (const std::filesystem::path& part : path) {
    std::error_code ignored;
    if (part == "." || part.empty()) continue;
    if (part == ".." && shorter.filename() != ".." &&
        std::filesystem::symlink_status(shorter, ignored).type() != std::filesystem::file_type::symlink) {
      shorter = shorter.parent_path();
    } else {
      shorter /= part;
    }
  }
  return shorter;
}

std::string Shown(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kNull: return "nothing";
    case YamlNode::Kind::kList: return node.items.empty() ? "an empty list" : "a list";
    case YamlNode::Kind::kMap: return node.entries.empty() ? "an empty mapping" : "a mapping";
    case YamlNode::Kind::kScalar: return Quoted(node.text) + (node.quoted ? " in quotes" : "");
    case YamlNode::Kind::kInvalid: break;
  }
  return "this";
}

bool IsPlain(const YamlNode& node) { return node.kind == YamlNode::Kind::kScalar && !node.quoted; }

// 42 bytes in base64, the first of which are "Ed".
bool IsPublicKey(std::string_view text) {
  return text.size() == 56 && text.substr(0, 2) == "RW" && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' || c == '/';
         });
}

// The ranges of fields.hpp are written as in the YAML.
template <class T>
T Bound(const Result<T>& parsed) {
  return parsed.ok() ? parsed.value() : T{};
}

}  // namespace

const YamlNode* FieldReader::Take(std::string_view key) {
  known_.push_back(key);
  const YamlEntry* entry = map_->Find(key);
  return entry == nullptr || entry->value.kind == YamlNode::Kind::kInvalid ? nullptr : &entry->value;
}

const YamlNode* FieldReader::TakeMap(std::string_view key, Origin& origin) {
  const YamlNode* node = Take(key);
  if (node == nullptr) return nullptr;
  origin = node->at;
  if (node->kind == YamlNode::Kind::kMap) return node;
  Refuse(key, *node, "a mapping", node->kind == YamlNode::Kind::kNull ? "write {} for an empty one" : "");
  return nullptr;
}

const YamlNode* FieldReader::TakeList(std::string_view key, Origin& origin) {
  const YamlNode* node = Take(key);
  if (node == nullptr) return nullptr;
  origin = node->at;
  if (node->kind == YamlNode::Kind::kList) return node;
  Refuse(key, *node, "a list", node->kind == YamlNode::Kind::kNull ? "write [] for an empty one" : "");
  return nullptr;
}

void FieldReader::RefuseUnknownKeys() {
  if (map_->kind != YamlNode::Kind::kMap) return;
  for (const YamlEntry& entry : map_->entries) {
    if (std::find(known_.begin(), known_.end(), entry.key) != known_.end()) continue;
    if (std::find(unavailable_.begin(), unavailable_.end(), entry.key) != unavailable_.end()) continue;
    if (problems_.full()) return;
    problems_.Add(entry.key_at,
                  fmt::format("unknown key {}{} (accepted here: {})", Quoted(entry.key), DidYouMean(entry.key, known_),
                              fmt::join(known_, ", ")),
                  ProblemCode::kUnknownKey);
  }
}

void FieldReader::Text(std::string_view key, Setting<std::string>& out, TextKind kind) {
  if (const YamlNode* node = Take(key)) ReadText(key, *node, kind, out);
}

void FieldReader::Texts(std::string_view key, List<Setting<std::string>>& out, TextKind kind) {
  const YamlNode* node = Take(key);
  if (node == nullptr) return;
  if (node->kind != YamlNode::Kind::kList && node->kind != YamlNode::Kind::kScalar) {
    Refuse(key, *node, "a list of texts", node->kind == YamlNode::Kind::kNull ? "write [] for an empty one" : "");
    return;
  }
  out.origin = node->at;
  out.items.clear();
  const bool is_list = node->kind == YamlNode::Kind::kList;
  for (size_t i = 0; i < (is_list ? node->items.size() : 1); ++i) {
    Setting<std::string> text;
    if (ReadText(key, is_list ? node->items[i] : *node, kind, text)) out.items.push_back(std::move(text));
  }
}

void FieldReader::Integer(std::string_view key, Setting<int64_t>& out, const IntegerRange& range) {
  const YamlNode* node = Take(key);
  if (node == nullptr) return;
  const bool has_word = !range.word.empty();
  if (has_word && node->kind == YamlNode::Kind::kScalar && node->text == range.word) {
    out = {0, node->at};
    return;
  }
  const std::string expected = range.min == range.max ? std::to_string(range.min)
                                                      : fmt::format("{}{}a whole number from {} to {}", range.word,
                                                                    has_word ? " or " : "", range.min, range.max);
  if (!IsPlain(*node)) return Refuse(key, *node, expected, "");
  const Result<int64_t> value = ParseInteger(node->text);
  if (!value.ok()) return Refuse(key, *node, expected, value.status().message());
  if (*value < range.min || *value > range.max) return Refuse(key, *node, expected, "");
  out = {*value, node->at};
}

void FieldReader::Real(std::string_view key, Setting<std::optional<double>>& out, const RealRange& range) {
  const YamlNode* node = Take(key);
  if (node == nullptr) return;
  const std::string expected = fmt::format("a number from {} to {}", range.min, range.max);
  if (!IsPlain(*node)) return Refuse(key, *node, expected, "");
  const Result<double> value = ParseReal(node->text);
  if (!value.ok()) return Refuse(key, *node, expected, value.status().message());
  if (*value < range.min || *value > range.max) return Refuse(key, *node, expected, "");
  out = {*value, node->at};
}

void FieldReader::Quantity(std::string_view key, Setting<Percent>& out, const PercentRange& range) {
  const YamlNode* node = Take(key);
  if (node == nullptr) return;
  const std::string expected = fmt::format("a share from {} to {}", range.min, range.max);
  if (node->kind != YamlNode::Kind::kScalar) return Refuse(key, *node, expected, "");
  const Result<Percent> value = ParsePercent(node->text);
  if (!value.ok()) return Refuse(key, *node, expected, value.status().message());
  if (value->count < Bound(ParsePercent(range.min)).count || value->count > Bound(ParsePercent(range.max)).count)
    return Refuse(key, *node, expected, "");
  out = {*value, node->at};
}

void FieldReader::Flag(std::string_view key, Setting<bool>& out) {
  const YamlNode* node = Take(key);
  if (node == nullptr) return;
  if (!IsPlain(*node)) return Refuse(key, *node, "true or false", "");
  const Result<bool> value = ParseBool(node->text);
  if (!value.ok()) return Refuse(key, *node, "true or false", value.status().message());
  out = {*value, node->at};
}

void FieldReader::Quantity(std::string_view key, Setting<Duration>& out, const DurationRange& range) {
  const YamlNode* node = Take(key);
  if (node == nullptr) return;
  const std::string words = range.has_words() ? fmt::format("{}, {} or ", range.automatic, range.none) : "";
  const std::string expected =
      fmt::format("{}a duration from {} to {} with its unit ({})", words, range.min, range.max, DurationUnits());
  if (node->kind != YamlNode::Kind::kScalar) return Refuse(key, *node, expected, "");
  for (const Duration value : {kAutomatic, Duration(0)})
    if (range.has_words() && node->text == range.WordOf(value)) {
      out = {value, node->at};
      return;
    }
  const Result<Duration> value = ParseDuration(node->text);
  if (!value.ok()) return Refuse(key, *node, expected, value.status().message());
  if (*value < Bound(ParseDuration(range.min)) || *value > Bound(ParseDuration(range.max)))
    return Refuse(key, *node, expected, "");
  out = {*value, node->at};
}

void FieldReader::Quantity(std::string_view key, Setting<Bytes>& out, const SizeRange& range) {
  const YamlNode* node = Take(key);
  if (node == nullptr) return;
  const std::string expected =
      fmt::format("a size from {} to {} with its unit ({})", range.min, range.max, SizeUnits());
  if (node->kind != YamlNode::Kind::kScalar) return Refuse(key, *node, expected, "");
  const Result<Bytes> value = ParseSize(node->text);
  if (!value.ok()) return Refuse(key, *node, expected, value.status().message());
  if (value->count < Bound(ParseSize(range.min)).count || value->count > Bound(ParseSize(range.max)).count)
    return Refuse(key, *node, expected, "");
  out = {*value, node->at};
}

void FieldReader::Options(std::string_view key, List<Named<OptionValue>>& out) {
  const YamlNode* map = TakeMap(key, out.origin);
  if (map == nullptr) return;
  for (const YamlEntry& entry : map->entries) {
    if (!CheckKey(key, entry, TextKind::kName) || entry.value.kind == YamlNode::Kind::kInvalid) continue;
    if (entry.value.kind != YamlNode::Kind::kScalar) {
      Refuse(entry.key, entry.value, "a single value or a mapping of them",
             entry.value.kind == YamlNode::Kind::kNull ? "write \"\" for an empty text" : "");
      continue;
    }
    out.items.push_back({entry.key, {OptionValue{entry.value.text, entry.value.quoted}, entry.value.at}, entry.key_at});
  }
}

void FieldReader::Instruction(std::string_view key) {
  Setting<std::string> ignored;
  if (const YamlNode* node = Take(key)) ReadText(key, *node, TextKind::kName, ignored);
}

void FieldReader::Unavailable(std::string_view key) {
  unavailable_.push_back(key);
  if (const YamlEntry* entry = map_->Find(key))
    problems_.Add(entry->key_at, fmt::format("{} is not available in this version", Quoted(key)),
                  ProblemCode::kUnavailable);
}

bool FieldReader::CheckKey(std::string_view map, const YamlEntry& entry, TextKind kind) {
  if (kind != TextKind::kName || IsName(entry.key)) return true;
  problems_.Add(entry.key_at,
                fmt::format("names in '{}' are letters, digits, '_', '.' and '-', not {}", map, Quoted(entry.key)));
  return false;
}

bool FieldReader::ReadText(std::string_view key, const YamlNode& node, TextKind kind, Setting<std::string>& out) {
  const bool is_text = node.kind == YamlNode::Kind::kScalar && !node.text.empty();
  out.origin = node.at;
  out.value = node.text;
  switch (kind) {
    case TextKind::kName:
      if (is_text && IsName(node.text)) return true;
      Refuse(key, node, "a name of letters, digits, '_', '.' and '-'", "");
      return false;
    case TextKind::kPattern:
      if (is_text) return true;
      Refuse(key, node, "text", "");
      return false;
    case TextKind::kDevice:
      if (is_text) return true;
      Refuse(key, node, "the number or the name of a device", "");
      return false;
    case TextKind::kPublicKey:
      if (is_text && IsPublicKey(node.text)) return true;
      Refuse(key, node, "a public key of minisign (56 characters, beginning with RW)", "");
      return false;
    case TextKind::kVariable:
      if (is_text && IsVariablePattern(node.text)) return true;
      Refuse(key, node, "a name of environment variables, of letters, digits and '_', or its beginning before a '*'",
             "");
      return false;
    case TextKind::kCacheDir:
      if (node.text == "auto" || node.text == "off") return true;
      break;
    case TextKind::kDump:
      if (std::find(std::begin(kDumpWords), std::end(kDumpWords), node.text) != std::end(kDumpWords)) return true;
      RefuseWord(key, node, {std::begin(kDumpWords), std::end(kDumpWords)});
      return false;
    case TextKind::kFolder:
      if (node.text == "auto") return true;
      break;
    case TextKind::kPluginPath:
      if (node.text == kDeputyPrefix || node.text.rfind(std::string(kDeputyPrefix) + "/", 0) == 0) return true;
      break;
  }
  const std::string_view expected = kind == TextKind::kCacheDir ? "auto, off or a folder"
                                    : kind == TextKind::kFolder ? "auto or a folder"
                                                                : "a folder, or one under $deputy";
  // No other variable is expanded: reading "$DIR/plugins" as a folder of that name would surprise the user.
  const bool expands = is_text && (node.text[0] == '$' || node.text[0] == '~');
  if (is_text && !expands) {
    out.value = Resolve(node);
    return true;
  }
  Refuse(key, node, expected,
         expands ? (kind == TextKind::kPluginPath ? "only $deputy is expanded; write ./ before a name that begins so"
                                                  : "variables and ~ are not expanded")
                 : "");
  return false;
}

std::string FieldReader::Resolve(const YamlNode& node) const {
  const auto base = bases_.find(node.at.source);
  const std::filesystem::path folder = base == bases_.end() ? std::filesystem::path() : base->second;
  std::error_code ignored;
  const std::filesystem::path absolute = std::filesystem::absolute(folder / node.text, ignored);
  // Empty when the working directory is gone; then the path stays relative, and opening it fails.
  return absolute.empty() ? node.text : WithoutDots(absolute).string();
}

void FieldReader::RefuseWord(std::string_view key, const YamlNode& node,
                             const std::vector<std::string_view>& accepted) {
  if (node.kind == YamlNode::Kind::kInvalid) return;
  const std::string match = node.kind == YamlNode::Kind::kScalar ? DidYouMean(node.text, accepted) : "";
  problems_.Add(node.at, fmt::format("{} must be one of {}, not {}{}", Quoted(key), fmt::join(accepted, ", "),
                                     Shown(node), match));
}

void FieldReader::Refuse(std::string_view key, const YamlNode& node, std::string_view expected,
                         std::string_view reason) {
  if (node.kind == YamlNode::Kind::kInvalid) return;
  problems_.Add(node.at, fmt::format("{} must be {}, not {}{}{}", Quoted(key), expected, Shown(node),
                                     reason.empty() ? "" : ": ", reason));
}

}  // namespace deputy::host
