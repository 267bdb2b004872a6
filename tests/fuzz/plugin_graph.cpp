#include "fuzz/plugin_graph.hpp"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <sstream>

namespace deputy::fuzz {
namespace {

constexpr size_t kMostValues = 48, kMostNodes = 24, kMostAttributes = 12, kMostListed = 32;
constexpr const char* kRoles[] = {"input", "constant", "inner", "output"};
constexpr const char* kKinds[] = {"int", "ints", "float", "floats", "string"};

std::vector<std::string> SplitAt(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

template <class Names>
std::optional<size_t> IndexIn(const Names& names, const std::string& word) {
  for (size_t i = 0; i < std::size(names); ++i)
    if (word == names[i]) return i;
  return std::nullopt;
}

int64_t IntOf(const std::string& word) { return std::strtoll(word.c_str(), nullptr, 10); }

// Numbers that need not fit.
int32_t SmallOf(const std::string& word) { return static_cast<int32_t>(IntOf(word)); }

class Reader {
 public:
  explicit Reader(std::span<const uint8_t> text) : lines_(SplitAt(std::string(TextOf(text)), '\n')) {}

  PluginGraph Read() {
    for (const std::string& line : lines_) {
      std::istringstream stream(line);
      std::vector<std::string> words;
      for (std::string word; stream >> word && words.size() < kMostListed;) words.push_back(word);
      if (words.size() < 2) continue;
      if (words[0] == "value")
        ReadValue(words);
      else if (words[0] == "node")
        ReadNode(words);
      else if (const auto kind = IndexIn(kKinds, words[0]))
        ReadAttribute(static_cast<PluginGraph::Kind>(*kind), words);
    }
    return std::move(graph_);
  }

 private:
  void ReadValue(const std::vector<std::string>& words) {
    if (words.size() < 5 || graph_.values.size() == kMostValues || by_name_.count(words[1]) != 0) return;
    const auto role = IndexIn(kRoles, words[4]);
    if (!role) return;
    PluginGraph::Value value;
    value.name = words[1];
    value.dtype = SmallOf(words[2]);
    value.ranked = words[3] != "?";
    if (value.ranked && words[3] != ".")
      for (const std::string& extent : SplitAt(words[3], ',')) value.dims.push_back(IntOf(extent));
    if (value.dims.size() > kMostListed) value.dims.resize(kMostListed);
    value.role = static_cast<PluginGraph::Role>(*role);
    for (size_t i = 5; i < words.size(); ++i) {
      if (words[i] == "null")
        value.null = true;
      else if (words[i].rfind("bytes=", 0) == 0)
        value.bytes = std::strtoull(words[i].c_str() + 6, nullptr, 10);
      else
        value.numbers.push_back(std::strtod(words[i].c_str(), nullptr));
    }
    by_name_[value.name] = graph_.values.size();
    graph_.values.push_back(std::move(value));
  }

  std::vector<size_t> Named(const std::string& names) const {
    std::vector<size_t> values;
    for (const std::string& name : SplitAt(names, ',')) {
      const auto found = by_name_.find(name);
      if (values.size() < kMostListed) values.push_back(found == by_name_.end() ? PluginGraph::kNone : found->second);
    }
    return values;
  }

  void ReadNode(const std::vector<std::string>& words) {
    if (words.size() < 5 || graph_.nodes.size() == kMostNodes) return;
    PluginGraph::Node node;
    const size_t at = words[1].find('@');
    node.op = words[1].substr(0, at);
    if (at != std::string::npos) node.domain = words[1].substr(at + 1);
    node.version = SmallOf(words[2]);
    node.inputs = Named(words[3]);
    node.outputs = Named(words[4]);
    graph_.nodes.push_back(std::move(node));
  }

  void ReadAttribute(PluginGraph::Kind kind, const std::vector<std::string>& words) {
    if (graph_.nodes.empty() || graph_.nodes.back().attributes.size() == kMostAttributes) return;
    PluginGraph::Attribute attribute;
    attribute.name = words[1];
    attribute.kind = kind;
    for (size_t i = 2; i < words.size(); ++i) {
      attribute.ints.push_back(IntOf(words[i]));
      attribute.floats.push_back(std::strtof(words[i].c_str(), nullptr));
    }
    if (words.size() > 2) attribute.text = words[2];
    graph_.nodes.back().attributes.push_back(std::move(attribute));
  }

  std::vector<std::string> lines_;
  PluginGraph graph_;
  std::map<std::string, size_t> by_name_;
};

std::string Exact(double number) {
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", number);
  return text;
}

std::string DimsOf(const PluginGraph::Value& value) {
  if (!value.ranked) return "?";
  if (value.dims.empty()) return ".";
  std::string text;
  for (const int64_t extent : value.dims) text += (text.empty() ? "" : ",") + std::to_string(extent);
  return text;
}

}  // namespace

PluginGraph ReadPluginGraph(std::span<const uint8_t> text) { return Reader(text).Read(); }

Bytes WritePluginGraph(const PluginGraph& graph) {
  std::string text;
  for (const PluginGraph::Value& value : graph.values) {
    text += "value " + value.name + " " + std::to_string(value.dtype) + " " + DimsOf(value) + " " +
            kRoles[static_cast<size_t>(value.role)];
    if (value.null) text += " null";
    if (value.bytes) text += " bytes=" + std::to_string(*value.bytes);
    for (const double number : value.numbers) text += " " + Exact(number);
    text += "\n";
  }
  const auto names = [&](const std::vector<size_t>& values) {
    std::string list;
    for (const size_t value : values)
      list += (list.empty() ? "" : ",") + (value == PluginGraph::kNone ? "-" : graph.values[value].name);
    return list.empty() ? std::string("-") : list;
  };
  for (const PluginGraph::Node& node : graph.nodes) {
    text += "node " + node.op + (node.domain.empty() ? "" : "@" + node.domain) + " " + std::to_string(node.version) +
            " " + names(node.inputs) + " " + names(node.outputs) + "\n";
    for (const PluginGraph::Attribute& attribute : node.attributes) {
      text += std::string(kKinds[static_cast<size_t>(attribute.kind)]) + " " + attribute.name;
      const bool floats = attribute.kind == PluginGraph::Kind::kFloat || attribute.kind == PluginGraph::Kind::kFloats;
      if (attribute.kind == PluginGraph::Kind::kString)
        text += " " + attribute.text;
      else if (floats)
        for (const float number : attribute.floats) text += " " + Exact(static_cast<double>(number));
      else
        for (const int64_t number : attribute.ints) text += " " + std::to_string(number);
      text += "\n";
    }
  }
  return BytesOf(text);
}

}  // namespace deputy::fuzz
