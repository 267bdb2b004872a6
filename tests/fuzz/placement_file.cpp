// The file of measured placements beside a model.
#include "runtime/placement_file.hpp"

#include <string>

#include "fuzz/lines.hpp"
#include "fuzz/target.hpp"
#include "fuzz/temporary_file.hpp"

namespace deputy::fuzz {
namespace {

constexpr size_t kMostBytes = 16 * 1024;
constexpr host::Digest kModel = {7};
const std::vector<std::string>& Delegates() {
  static const std::vector<std::string> names = {"npu0", "onednn", "cpu"};
  return names;
}

// Keys and values of a file that the host has written itself.
const Lines& Words() {
  static const Lines words = [] {
    Lines all = YamlWords();
    all.insert(all.end(), {"npu0", "cpu", "nodes", "delegate", "0-3", "7, 8", "3-1", "-", "[[1, 3], []]", "[-1]"});
    const host::Placements placements = {{{{1, 3}, {}}, {{{0, {0, 1, 2, 7}, "3 ms"}}, "summary"}}};
    for (const std::string& line : LinesOf(host::PlacementFileText(placements, kModel, Delegates()))) {
      const size_t colon = line.find(':'), begin = line.find_first_not_of(" -");
      if (colon == std::string::npos || begin > colon) continue;
      all.push_back(line.substr(begin, colon - begin));
      if (colon + 2 < line.size()) all.push_back(line.substr(colon + 2));
    }
    return all;
  }();
  return words;
}

}  // namespace

void MutateInput(Bytes& input, Random& random) {
  Lines lines = LinesOf(TextOf(input));
  ChangeLines(lines, Words(), random);
  Bytes text = BytesOf(lines);
  if (text.size() <= kMostBytes) input = std::move(text);
}

void CheckInput(std::span<const uint8_t> input) {
  const auto path = TemporaryFolder() / "model.placement.yaml";
  WriteFile(path, input);
  const Result<host::Placements> read = host::ReadPlacementFile(path, kModel, Delegates());
  if (!read.ok()) {
    Require(!read.status().message().empty(), "an error has a message", read.status().ToString());
    Require(read.status().code() == StatusCode::kConfig || read.status().code() == StatusCode::kIncompatible,
            "a bad file is an error of that kind", read.status().ToString());
    return;
  }
  const std::string text = host::PlacementFileText(*read, kModel, Delegates());
  WriteFile(path, BytesOf(std::string_view(text)));
  const Result<host::Placements> again = host::ReadPlacementFile(path, kModel, Delegates());
  Require(again.ok(), "placements that were written can be read", again.status().ToString() + "\n" + text);
  Require(*again == *read, "placements read as they were written", text);
}

}  // namespace deputy::fuzz
