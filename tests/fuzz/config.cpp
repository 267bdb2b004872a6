// The configuration: YAML text, with arguments of --set in lines that begin with "#set ". Mutants are made of lines and
// words, with the keys and examples of the one list of keys, so that most are YAML.
#include <string>
#include <string_view>

#include "config/loader.hpp"
#include "config/reference.hpp"
#include "config/show.hpp"
#include "fuzz/lines.hpp"
#include "fuzz/target.hpp"

namespace deputy::fuzz {
namespace {

constexpr std::string_view kSetting = "#set ";
constexpr size_t kMostBytes = 16 * 1024;

const host::Config& Defaults() {
  static const host::Config config = *host::ConfigLoader().Finish();
  return config;
}

// Paths of keys, their last words, values, and what YAML treats specially.
const Lines& Words() {
  static const Lines words = [] {
    Lines all = YamlWords();
    all.insert(all.end(), {"npu0", "cpu", "any"});
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
  if (random.OneIn(12))
    lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(random.Below(lines.size() + 1)), SettingLine(random));
  else
    ChangeLines(lines, Words(), random);
  Bytes text = BytesOf(lines);
  if (text.size() <= kMostBytes) input = std::move(text);
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
