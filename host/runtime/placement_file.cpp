#include "runtime/placement_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/judged_file.hpp"
#include "base/printable.hpp"
#include "config/reader.hpp"
#include "config/scalar.hpp"
#include "tensor/shape.hpp"

namespace deputy::host {
namespace {

constexpr int64_t kVersion = 1;

// "0-3,7"
std::string RangesText(const std::vector<uint32_t>& numbers) {
  std::string text;
  for (size_t i = 0; i < numbers.size();) {
    size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ",", numbers[i]);
    if (last != i) text += fmt::format("-{}", numbers[last]);
    i = last + 1;
  }
  return text;
}

constexpr int64_t kMostNodes = 1 << 26;   // of a model
constexpr size_t kMostText = 1000;        // bytes of a text for users
constexpr int64_t kMostListed = 1 << 24;  // in one file: bounds the memory that few bytes can ask for

// None: not ascending ranges of numbers of 32 bits, or more numbers than are `left`.
std::optional<std::vector<uint32_t>> ParseRanges(std::string_view text, int64_t& left) {
  std::vector<uint32_t> numbers;
  while (!text.empty()) {
    const std::string_view range = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), range.size() + 1));
    const size_t dash = range.find('-');
    const Result<int64_t> first = ParseInteger(range.substr(0, dash));
    const Result<int64_t> last = dash == std::string_view::npos ? first : ParseInteger(range.substr(dash + 1));
    if (!first.ok() || !last.ok() || *first < 0 || *first > *last || *last >= kMostNodes) return std::nullopt;
    if (!numbers.empty() && *first <= static_cast<int64_t>(numbers.back())) return std::nullopt;
    left -= *last - *first + 1;
    if (left < 0) return std::nullopt;
    for (int64_t number = *first; number <= *last; ++number) numbers.push_back(static_cast<uint32_t>(number));
  }
  if (numbers.empty()) return std::nullopt;
  return numbers;
}

// "[1,3]", as ShapeToString writes it.
std::optional<Shape> ParseShape(std::string_view text) {
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') return std::nullopt;
  text = text.substr(1, text.size() - 2);
  Shape shape;
  while (!text.empty()) {
    const std::string_view extent = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), extent.size() + 1));
    const Result<int64_t> number = ParseInteger(extent);
    if (!number.ok() || *number < 0) return std::nullopt;
    shape.push_back(*number);
  }
  return shape;
}

// In quotes that YAML reads back. Texts are our own and names of delegates: printable, without control characters.
std::string InSingleQuotes(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("''") : std::string(1, c);
  return quoted + "'";
}

class FileReader {
 public:
  FileReader(const std::string& source, Problems& problems) : source_(source), problems_(problems) {}

  // The texts of an entry's keys; a missing one, or one of another kind, is a problem.
  std::string TextOf(const YamlNode& map, std::string_view key) {
    const YamlEntry* entry = Entry(map, key);
    if (entry == nullptr) return {};
    if (entry->value.kind == YamlNode::Kind::kScalar) return entry->value.text;
    problems_.Add(entry->value.at, fmt::format("'{}' must be text", key));
    return {};
  }
  const std::vector<YamlNode>& ListOf(const YamlNode& map, std::string_view key) {
    static const std::vector<YamlNode> nothing;
    const YamlEntry* entry = Entry(map, key);
    if (entry == nullptr) return nothing;
    if (entry->value.kind == YamlNode::Kind::kList) return entry->value.items;
    problems_.Add(entry->value.at, fmt::format("'{}' must be a list", key));
    return nothing;
  }
  // The place of a key's value, or of the map.
  static const Origin& PlaceOf(const YamlNode& map, std::string_view key) {
    const YamlEntry* entry = map.Find(key);
    return entry == nullptr ? map.at : entry->value.at;
  }
  void Add(const Origin& at, std::string message) { problems_.Add(at, std::move(message)); }

 private:
  const YamlEntry* Entry(const YamlNode& map, std::string_view key) {
    const YamlEntry* entry = map.kind == YamlNode::Kind::kMap ? map.Find(key) : nullptr;
    if (entry == nullptr)
      problems_.Add(map.at.line > 0 ? map.at : Origin{source_, 1, 1}, fmt::format("key '{}' is missing", key));
    return entry;
  }

  const std::string& source_;
  Problems& problems_;
};

void ReadPlacement(const YamlNode& node, const std::vector<std::string>& delegates, FileReader& reader,
                   int64_t& nodes_left, Placements& placements) {
  std::vector<Shape> shapes;
  for (const YamlNode& item : reader.ListOf(node, "shapes")) {
    const std::optional<Shape> shape = ParseShape(item.text);
    if (!shape) return reader.Add(item.at, fmt::format("a shape must be like '[1,3]', not {}", Quoted(item.text)));
    shapes.push_back(*shape);
  }
  PlacementDecision decision;
  decision.summary = Printable(reader.TextOf(node, "summary"), kMostText);
  for (const YamlNode& item : reader.ListOf(node, "slower")) {
    const std::string delegate = reader.TextOf(item, "delegate"), text = reader.TextOf(item, "nodes");
    std::optional<std::vector<uint32_t>> nodes = ParseRanges(text, nodes_left);
    if (nodes_left < 0) return reader.Add(item.at, fmt::format("lists more than {} nodes in all", kMostListed));
    if (!nodes) return reader.Add(item.at, fmt::format("'nodes' must be like '0-3,7', not {}", Quoted(text)));
    const auto found = std::find(delegates.begin(), delegates.end(), delegate);
    if (found == delegates.end() || found + 1 == delegates.end()) continue;  // it is not in use here
    decision.slower.push_back({static_cast<size_t>(found - delegates.begin()), *std::move(nodes),
                               Printable(reader.TextOf(item, "why"), kMostText),
                               FileReader::PlaceOf(item, "nodes").ToString()});
  }
  if (!placements.emplace(std::move(shapes), std::move(decision)).second)
    reader.Add(FileReader::PlaceOf(node, "shapes"), "an earlier placement has the same shapes");
}

}  // namespace

std::filesystem::path PlacementFileOf(const std::filesystem::path& model) {
  return std::filesystem::path(model) += ".placement.yaml";
}

std::string PlacementFileText(const Placements& placements, const Digest& model,
                              const std::vector<std::string>& delegates) {
  std::string text = fmt::format(
      "# The fastest placements of a model that 'deputy tune' found; read beside the model under 'policy: measured'.\n"
      "version: {}\nmodel: {}\nplacements:\n",
      kVersion, HexText(model));
  for (const auto& [shapes, decision] : placements) {
    std::string list;
    for (const Shape& shape : shapes) list += (list.empty() ? "" : ", ") + InSingleQuotes(ShapeToString(shape));
    text += fmt::format("  - shapes: [{}]\n    summary: {}\n", list, InSingleQuotes(decision.summary));
    if (decision.slower.empty()) text += "    slower: []\n";
    if (!decision.slower.empty()) text += "    slower:\n";
    for (const SlowerNodes& slower : decision.slower)
      text += fmt::format("      - {{delegate: {}, nodes: {}, why: {}}}\n", InSingleQuotes(delegates[slower.delegate]),
                          InSingleQuotes(RangesText(slower.nodes)), InSingleQuotes(slower.text));
  }
  return text;
}

Result<Placements> ReadPlacementFile(const std::filesystem::path& path, const Digest& model,
                                     const std::vector<std::string>& delegates) {
  DEPUTY_ASSIGN_OR_RETURN(const std::string text, ReadTrustedFile(path, kMostConfigBytes));
  const std::string source = path.string();
  Problems problems;
  Placements placements;
  if (const std::optional<YamlNode> root = ReadYaml(text, source, true, problems)) {
    FileReader reader(source, problems);
    const std::string version = reader.TextOf(*root, "version"), digest = reader.TextOf(*root, "model");
    if (version != std::to_string(kVersion) && problems.empty())
      return Error(StatusCode::kIncompatible, "{}: has version {}, expected {}", source, Quoted(version), kVersion);
    if (digest != HexText(model) && problems.empty())
      return Error(StatusCode::kIncompatible, "{}: was made for another model", source)
          .Advise("run 'deputy tune' again");
    int64_t nodes_left = kMostListed;
    for (const YamlNode& node : reader.ListOf(*root, "placements"))
      ReadPlacement(node, delegates, reader, nodes_left, placements);
  }
  if (!problems.empty()) return Error(StatusCode::kConfig, "{}", problems.list().front().ToString());
  return placements;
}

}  // namespace deputy::host
