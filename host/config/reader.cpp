#include "config/reader.hpp"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/printable.hpp"
#include "config/origin.hpp"
#include "config/scalar.hpp"
#include "config/text_check.hpp"

namespace deputy::host {
namespace {

// Thrown through the parser, which offers no other way to stop it.
struct Stop {};

class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(std::string_view text, const LineIndex& index, Problems& problems)
      : text_(text), index_(index), problems_(problems) {}

  std::optional<YamlNode> TakeRoot() { return std::move(root_); }
  // The parser has read at most a few tokens beyond this offset when it fails.
  size_t last_offset() const { return last_offset_; }

  void OnDocumentStart(const YAML::Mark& mark) override {
    const size_t offset = Offset(mark);
    // In some spellings of null the end mark that ReadYaml appends counts as a document of its own.
    ignoring_ = offset >= text_.size();
    if (ignoring_ || !root_) return;
    const std::string_view rest = text_.substr(offset);
    const bool marked = rest.substr(0, 3) == "---" || text_.substr(0, offset).find("\n...") != std::string_view::npos;
    Refuse(offset, marked ? "a second document begins here; a file is one document"
                          : "this does not belong to the lines above; check the indentation");
    throw Stop{};
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override {
    if (ignoring_) return;
    YamlNode node;
    const size_t offset = Offset(mark);
    // An implicit null has the mark of the next token: the position of its key is better.
    const std::string_view rest = text_.substr(offset);
    const bool written = rest.substr(0, 1) == "~" || (rest.size() >= 4 && IsNullWord(rest.substr(0, 4)));
    node.at = index_.At(offset);
    if (!written && !stack_.empty()) node.at = stack_.back().has_key ? stack_.back().key_at : stack_.back().node.at;
    Add(std::move(node));
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t, const std::string& value) override {
    if (ignoring_) return;
    const size_t offset = Offset(mark);
    YamlNode node;
    node.kind = YamlNode::Kind::kScalar;
    node.text = value;
    node.at = index_.At(offset);
    last_offset_ = offset;
    // '!' means both "quoted" and an explicit tag '!'.
    const char first = offset < text_.size() ? text_[offset] : '\0';
    node.quoted = tag == "!" && std::string_view("\"'|>").find(first) != std::string_view::npos;
    if (!node.quoted) RefuseTag(tag, offset);
    if (value.find('\0') != std::string::npos) {
      Refuse(offset, "a NUL character (\"\\0\") is not accepted");
      node.kind = YamlNode::Kind::kInvalid;
    }
    Add(std::move(node));
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    if (ignoring_) return;
    Refuse(Offset(mark), kAliasMessage);
    YamlNode node;
    node.kind = YamlNode::Kind::kInvalid;
    node.at = index_.At(Offset(mark));
    Add(std::move(node));
  }

  void OnAnchor(const YAML::Mark& mark, const std::string& name) override {
    if (!ignoring_) Refuse(Offset(mark), "anchors are not accepted: " + Quoted("&" + name));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    Begin(YamlNode::Kind::kList, mark, tag);
  }
  void OnSequenceEnd() override { End(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t, YAML::EmitterStyle::value) override {
    Begin(YamlNode::Kind::kMap, mark, tag);
  }
  void OnMapEnd() override { End(); }

  size_t Offset(const YAML::Mark& mark) const {
    return mark.pos < 0 ? 0 : std::min(static_cast<size_t>(mark.pos), text_.size());
  }
  void Refuse(size_t offset, std::string message) {
    problems_.Add(index_.At(offset), std::move(message), ProblemCode::kSyntax);
    if (problems_.full()) throw Stop{};
  }

  static constexpr const char* kAliasMessage =
      "aliases are not accepted; write the value out, or quote a text that begins with '*'";

 private:
  struct Frame {
    YamlNode node;
    bool has_key = false;
    bool drop_value = false;
    std::string key;
    Origin key_at;
    std::unordered_map<std::string, int> lines;  // of the keys so far
  };

  void RefuseTag(const std::string& tag, size_t offset) {
    if (tag.empty() || tag == "?") return;
    Refuse(offset, "tags are not accepted: " + Quoted(tag) + "; quote a text that begins with '!'");
  }

  void Begin(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag) {
    if (ignoring_) return;
    const size_t offset = Offset(mark);
    RefuseTag(tag, offset);
    if (stack_.size() == kMostConfigDepth) {
      Refuse(offset, fmt::format("this is nested deeper than {} levels", kMostConfigDepth));
      throw Stop{};
    }
    last_offset_ = offset;
    Frame frame;
    frame.node.kind = kind;
    frame.node.at = index_.At(offset);
    stack_.push_back(std::move(frame));
  }

  void End() {
    if (ignoring_) return;
    YamlNode node = std::move(stack_.back().node);
    stack_.pop_back();
    Add(std::move(node));
  }

  void Add(YamlNode node) {
    if (++count_ > kMostConfigNodes) {
      problems_.Add(node.at, fmt::format("there are more than {} values", kMostConfigNodes), ProblemCode::kSyntax);
      throw Stop{};
    }
    if (stack_.empty()) {
      root_ = std::move(node);
      return;
    }
    Frame& frame = stack_.back();
    if (frame.node.kind == YamlNode::Kind::kList) {
      frame.node.items.push_back(std::move(node));
    } else if (!frame.has_key) {
      SetKey(frame, std::move(node));
    } else {
      frame.has_key = false;
      if (!frame.drop_value) frame.node.entries.push_back({std::move(frame.key), frame.key_at, std::move(node)});
    }
  }

  void SetKey(Frame& frame, YamlNode key) {
    const std::string reason = WhyNoKey(key, frame);
    if (!reason.empty())
      problems_.Add(key.at, reason, frame.lines.count(key.text) != 0 ? ProblemCode::kDuplicate : ProblemCode::kSyntax);
    frame.has_key = true;
    frame.drop_value = !reason.empty() || key.kind != YamlNode::Kind::kScalar;
    frame.key_at = key.at;
    if (!frame.drop_value) frame.lines.emplace(key.text, key.at.line);
    frame.key = std::move(key.text);
  }

  static std::string WhyNoKey(const YamlNode& key, const Frame& frame) {
    if (key.kind == YamlNode::Kind::kInvalid) return {};
    if (key.kind != YamlNode::Kind::kScalar || key.text.empty()) return "a key must be a non-empty text";
    if (key.text.size() > kLongestKey) return fmt::format("this key is longer than {} bytes", kLongestKey);
    if (std::any_of(key.text.begin(), key.text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }))
      return "key " + Quoted(key.text) + " holds a control character";
    if (key.text == "<<") return "merge keys ('<<') are not accepted; write the keys out";
    const auto first = frame.lines.find(key.text);
    if (first == frame.lines.end()) return {};
    const std::string where =
        key.at.line > 0 ? fmt::format(" is set twice, first in line {}", first->second) : std::string(" is set twice");
    return "key " + Quoted(key.text) + where;
  }

  std::string_view text_;
  const LineIndex& index_;
  Problems& problems_;
  std::optional<YamlNode> root_;
  std::vector<Frame> stack_;
  size_t count_ = 0;
  size_t last_offset_ = 0;
  bool ignoring_ = false;
};

// The first quote after `from` that has no end. Between the last event and an error there are only a few tokens, so
// that telling a quote from one within a plain scalar by the character before it is good enough.
std::optional<size_t> OpenQuote(std::string_view text, size_t from) {
  for (size_t i = from; i < text.size(); ++i) {
    const bool starts = i == 0 || std::string_view(" \t\r\n[{,:").find(text[i - 1]) != std::string_view::npos;
    if (!starts) continue;
    if (text[i] == '#') {
      i = std::min(text.find('\n', i), text.size());
      continue;
    }
    const char quote = text[i];
    if (quote != '"' && quote != '\'') continue;
    size_t end = i + 1;
    for (; end < text.size(); ++end) {
      if (quote == '"' && text[end] == '\\') {
        ++end;
      } else if (text[end] == quote) {
        if (quote == '"' || end + 1 == text.size() || text[end + 1] != quote) break;
        ++end;
      }
    }
    if (end >= text.size()) return i;
    i = end;
  }
  return std::nullopt;
}

// The parser's own message where it helps, a better one elsewhere.
std::string Reworded(const std::string& message) {
  namespace errors = YAML::ErrorMsg;
  struct Rewording {
    const char* from;
    const char* to;
  };
  constexpr const char* kMisfit = "this does not fit the lines above; check indentation, quotes and ':' after keys";
  const std::array<Rewording, 8> kRewordings = {{
      {errors::UNKNOWN_ANCHOR, TreeBuilder::kAliasMessage},
      {errors::END_OF_MAP, kMisfit},
      {errors::END_OF_SEQ, kMisfit},
      {errors::END_OF_MAP_FLOW, "expected ',' or '}' here"},
      {errors::END_OF_SEQ_FLOW, "expected ',' or ']' here"},
      {errors::FLOW_END, "this closing bracket has no matching opening one"},
      {errors::MAP_VALUE, "a ':' does not fit here; quote the text, or check the indentation"},
      {errors::UNKNOWN_TOKEN, "a text cannot begin with this character; quote it"},
  }};
  for (const Rewording& rewording : kRewordings)
    if (message == rewording.from) return rewording.to;
  return "not valid YAML: " + Printable(message, SIZE_MAX);
}

void ReportSyntax(const YAML::Exception& error, std::string_view text, const TreeBuilder& builder,
                  const LineIndex& index, Problems& problems) {
  if (error.msg == YAML::ErrorMsg::DOC_IN_SCALAR || error.msg == YAML::ErrorMsg::EOF_IN_SCALAR) {
    if (const auto quote = OpenQuote(text, builder.last_offset())) {
      problems.Add(index.At(*quote), "this quote is never closed", ProblemCode::kSyntax);
      return;
    }
  }
  problems.Add(index.At(builder.Offset(error.mark)), Reworded(error.msg), ProblemCode::kSyntax);
}

}  // namespace

std::optional<YamlNode> ReadYaml(std::string_view text, const std::string& source, bool lines, Problems& problems) {
  const LineIndex index(text, source, lines);
  if (text.size() > kMostConfigBytes) {
    problems.Add(index.At(0),
                 fmt::format("the configuration has {} bytes, the maximum is {}", text.size(), kMostConfigBytes),
                 ProblemCode::kSyntax);
    return std::nullopt;
  }
  Problems unreadable;
  CheckText(text, index, unreadable);
  if (!unreadable.empty()) {
    problems.Take(unreadable);
    return std::nullopt;
  }

  TreeBuilder builder(text, index, problems);
  try {
    // Without an end mark the parser treats a quote that is never closed as closed at the end of the file.
    std::istringstream stream(std::string(text) + "\n...\n");
    YAML::Parser parser(stream);
    // The second call finds the rest of the text: a second document, or text in a wrong place.
    if (parser.HandleNextDocument(builder)) parser.HandleNextDocument(builder);
  } catch (const Stop&) {
    return std::nullopt;
  } catch (const YAML::Exception& error) {
    ReportSyntax(error, text, builder, index, problems);
    return std::nullopt;
  }
  std::optional<YamlNode> root = builder.TakeRoot();
  if (!root || root->kind == YamlNode::Kind::kNull) {
    problems.Add(index.At(0), "the configuration is empty; it needs at least 'version: 1'", ProblemCode::kSyntax);
    return std::nullopt;
  }
  return root;
}

}  // namespace deputy::host
