#include "arguments.hpp"

#include <charconv>

namespace deputy::conformance {
namespace {

bool ReadNumber(const std::string& text, int smallest, int* number) {
  const auto read = std::from_chars(text.data(), text.data() + text.size(), *number);
  return read.ec == std::errc() && read.ptr == text.data() + text.size() && *number >= smallest;
}

}  // namespace

bool ParseArguments(const std::vector<std::string>& words, Arguments* arguments, std::string* error) {
  Settings& settings = arguments->settings;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const auto text = [&](std::string* value) {
      if (i + 1 >= words.size()) {
        *error = word + " needs a value";
        return false;
      }
      *value = words[++i];
      return true;
    };
    const auto number = [&](int smallest, int* value) {
      std::string given;
      if (!text(&given)) return false;
      if (ReadNumber(given, smallest, value)) return true;
      *error = word + ": '" + given + "' is no number from " + std::to_string(smallest) + " on";
      return false;
    };
    bool ok = true;
    std::string value;
    if (word == "--delegate")
      ok = text(&settings.delegate);
    else if (word == "--config")
      ok = text(&arguments->config);
    else if (word == "--filter")
      ok = text(&settings.filter);
    else if (word == "--quirks")
      ok = text(&settings.quirks);
    else if (word == "--junit")
      ok = text(&settings.junit);
    else if (word == "--timeout")
      ok = number(1, &settings.timeout_s);
    else if (word == "--jobs")
      ok = number(1, &settings.jobs);
    else if (word == "--list")
      settings.list = true;
    else if (word == "--in-process")
      settings.in_process = true;
    else if (word == "--verbose" || word == "-v")
      arguments->verbose = true;
    else if (word == "--allow-unavailable")
      arguments->allow_unavailable = true;
    else if (word == "--help" || word == "-h")
      arguments->help = true;
    else if (word == "--seed") {
      int seed = 0;
      ok = number(0, &seed);
      settings.seed = static_cast<uint64_t>(seed);
    } else if (word == "--set") {
      ok = text(&value);
      const size_t sign = value.find('=');
      if (ok && sign == std::string::npos) {
        *error = "--set: '" + value + "' is not NAME=VALUE";
        return false;
      }
      if (ok) settings.options.emplace_back(value.substr(0, sign), value.substr(sign + 1));
    } else if (!word.empty() && word[0] == '-') {
      *error = "unknown option " + word;
      return false;
    } else if (settings.plugin.empty()) {
      settings.plugin = word;
    } else {
      *error = "one plugin at a time: " + settings.plugin + " and " + word;
      return false;
    }
    if (!ok) return false;
  }
  if (!settings.plugin.empty() || arguments->help || settings.list) return true;
  *error = "no plugin is given";
  return false;
}

std::string HelpText() {
  return R"(deputy-conformance PLUGIN.so [options]: does a plugin keep the contract of Deputy's plugin ABI?

  --delegate ID      the delegate to test; default: all of the plugin's, one after the other
  --set NAME=VALUE   an option of the delegate; may be repeated
  --config FILE      a YAML configuration whose entry for the delegate gives its options
  --allow-unavailable
                     passes although a delegate says that it cannot run on this machine, so that most tests were skipped
  --quirks FILE      a list of known failures, each with a reason
  --filter GLOB,...  only tests whose name matches one of them, for example 'numerics.Conv,leaks.*'
  --list             names the tests and ends
  --timeout SECONDS  of one test; default 20
  --jobs N           tests at a time; default 1
  --seed N           of the generated values; default 1
  --junit FILE       writes the result as JUnit XML as well
  --in-process       runs tests in this process, for a debugger
  --verbose          names every test

Exit status: 0 passed, 1 a test failed, 2 wrong usage, 3 passed, but an entry of the quirks no longer fails,
4 nothing failed, but a delegate says that it cannot run on this machine.
)";
}

}  // namespace deputy::conformance
