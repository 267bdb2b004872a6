// The configuration: YAML text, with arguments of --set in lines that begin with "#set ". Mutants are made of lines and
// words, with the keys and examples of the one list of keys, so that most are YAML.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "config/loader.hpp"
#include "config/reference.hpp"
#include "config/show.hpp"
#include "fuzz/target.hpp"

namespace deputy::fuzz {
namespace {

using Lines = std::vector<std::string>;

constexpr std::string_view kSetting = "#set ";
constexpr size_t kMostBytes = 16 * 1024;

const host::Config& Defaults() {
  static const host::Config config = *host::ConfigLoader().Finish();
  return config;
}

// Paths of keys, their last words, values, and what YAML treats specially.
const Lines& Words() {
  static const Lines words = [] {
    Lines all = {"null",
                 "~",
                 "true",
                 "off",
                 "-1",
                 "017",
                 "1e9",
                 "\"",
                 "'",
                 "{",
                 "}",
                 "[",
                 "]",
                 "- ",
                 ": ",
                 "&a",
                 "*a",
                 "!!str",
                 "<<",
                 "|",
                 ">",
                 "%YAML 1.2",
                 "---",
                 "...",
                 "\t",
                 "#",
                 "?",
                 "npu0",
                 "cpu",
                 "any",
                 "\xc3\xa9",
                 "\xff",
                 "9223372036854775807",
                 "18446744073709551616",
                 "10ms",
                 "5 GB",
                 "1000000h",
                 "nan",
                 ".inf"};
    for (const host::KeyEntry& entry : host::KeyReference(Defaults())) {
      all.push_back(entry.path);
      all.push_back(entry.path.substr(entry.path.rfind('.') + 1));
      for (const std::string& value : {entry.default_value, entry.example})
        if (!value.empty() && value.find('\n') == std::string::npos) all.push_back(value);
    }
    return all;
  }();
  return words;
}

Lines LinesOf(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

size_t IndentOf(const std::string& line) { return std::min(line.find_first_not_of(' '), line.size()); }

// A key, or the value behind it, becomes another word.
void ReplaceWord(std::string& line, Random& random) {
  const size_t colon = line.find(": "), indent = IndentOf(line);
  const std::string& word = random.Of(Words());
  if (colon == std::string::npos || random.OneIn(3))
    line.replace(indent, std::min(line.find(':', indent), line.size()) - indent, word);
  else
    line = line.substr(0, colon + 2) + word;
}

void InsertWord(std::string& line, Random& random) { line.insert(random.Below(line.size() + 1), random.Of(Words())); }

std::string SettingLine(Random& random) {
  std::string path = random.Of(Words());
  if (random.OneIn(2)) path = "delegates." + random.Of(Words()) + "." + path;
  return std::string(kSetting) + path + (random.OneIn(8) ? "" : "=") + random.Of(Words());
}

host::ConfigLoader Loaded(std::string_view text, std::string_view name) {
  host::ConfigLoader loader;
  loader.AddText(std::string(name), text, "/base");
  return loader;
}

}  // namespace

void MutateInput(Bytes& input, Random& random) {
  Lines lines = LinesOf(TextOf(input));
  if (lines.empty()) lines.emplace_back("version: 1");
  std::string& line = random.Of(lines);
  const auto place = lines.begin() + static_cast<std::ptrdiff_t>(random.Below(lines.size()));
  switch (random.Below(12)) {
    case 0: lines.erase(place); break;
    case 1: {
      std::string copy = *place;
      lines.insert(place, std::move(copy));
      break;
    }
    case 2: std::swap(line, *place); break;
    case 3: line.insert(0, random.OneIn(2) ? "  " : " "); break;
    case 4: line.erase(0, std::min<size_t>(IndentOf(line), 1 + random.Below(4))); break;
    case 5: InsertWord(line, random); break;
    case 6: {  // a key of its own under the line
      std::string added(IndentOf(line) + 2 * random.Below(3), ' ');
      added += random.Of(Words()) + ": " + random.Of(Words());
      lines.insert(place, std::move(added));
      break;
    }
    case 7: lines.insert(place, SettingLine(random)); break;
    case 8: {
      Bytes bytes = BytesOf(line);
      ChangeBytes(bytes, random, bytes.size() + 64);
      line = TextOf(bytes);
      break;
    }
    default: ReplaceWord(line, random); break;
  }
  std::string text;
  for (const std::string& each : lines) text += each + '\n';
  if (text.size() <= kMostBytes) input = BytesOf(text);
}

void CheckInput(std::span<const uint8_t> input) {
  host::ConfigLoader loader = Loaded(TextOf(input), "input.yaml");
  for (const std::string& line : LinesOf(TextOf(input)))
    if (line.rfind(kSetting, 0) == 0) loader.AddSetting(std::string_view(line).substr(kSetting.size()));
  const Result<host::Config> config = loader.Finish();
  if (!config.ok()) {
    Require(config.status().code() == StatusCode::kConfig, "a bad configuration is an error of that kind",
            config.status().ToString());
    Require(!loader.problems().empty(), "an error lists its problems", config.status().ToString());
    for (const host::Problem& problem : loader.problems())
      Require(!problem.message.empty(), "a problem has a message", config.status().ToString());
    return;
  }
  const std::string shown = ShowConfig(*config);
  const Result<host::Config> again = Loaded(shown, "shown.yaml").Finish();
  Require(again.ok(), "a configuration that is shown can be read", again.status().ToString() + "\n" + shown);
  Require(*again == *config, "a configuration that is shown reads as the same", shown);
}

}  // namespace deputy::fuzz
