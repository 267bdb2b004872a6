#include "delegate_options.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "deputy/printable.hpp"

namespace deputy::tflite_delegate {
namespace {

std::vector<std::string> Split(const std::string& text) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(';', begin), text.size());
    if (end != begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

}  // namespace

Result<DelegateOptions> ParseOptions(const char* const* keys, const char* const* values, size_t count) {
  const std::array<std::string, 3> known{"config", "settings", "report"};
  DelegateOptions options;
  std::set<std::string> given;
  for (size_t i = 0; i < count; ++i) {
    if (keys == nullptr || keys[i] == nullptr)
      return Status(StatusCode::kInvalidArgument, "option " + std::to_string(i) + " has no name");
    const std::string key = keys[i];
    if (std::find(known.begin(), known.end(), key) == known.end())
      return Status(StatusCode::kInvalidArgument,
                    "unknown option '" + Printable(key, 64) + "'" + DidYouMean(key.substr(0, 64), known))
          .Advise("the options are config, settings and report");
    if (values == nullptr || values[i] == nullptr)
      return Status(StatusCode::kInvalidArgument, "option '" + key + "' has no value");
    if (!given.insert(key).second) return Status(StatusCode::kInvalidArgument, "option '" + key + "' is given twice");
    if (key == "config") options.config = values[i];
    if (key == "settings") options.settings = Split(values[i]);
    if (key == "report") options.report = values[i];
  }
  return options;
}

}  // namespace deputy::tflite_delegate
