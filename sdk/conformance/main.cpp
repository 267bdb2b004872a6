// deputy-conformance, with which a vendor checks that a plugin fulfils the contract of the ABI.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <thread>

#include "deputy/deputy.hpp"
#include "plugin_file.hpp"
#include "probing/taken_cases.hpp"
#include "report/verdict.hpp"
#include "text.hpp"

namespace {

using namespace deputy::conformance;

constexpr int kExitPassed = 0, kExitFailed = 1, kExitUsage = 2, kExitUnexpectedPass = 3, kExitUnavailable = 4;
constexpr int kThoroughNetworks = 30000;

struct Arguments {
  Settings settings;
  std::string config;  // a YAML file
  bool verbose = false;
  bool coverage = false;  // as a table
  int least_cases = static_cast<int>(kEnoughCases);
  bool allow_unavailable = false;
  bool help = false;
  bool counts_networks = false;  // --random was given
};

bool ReadNumber(const std::string& text, int smallest, int* number) {
  const auto read = std::from_chars(text.data(), text.data() + text.size(), *number);
  return read.ec == std::errc() && read.ptr == text.data() + text.size() && *number >= smallest;
}

// False and the reason if the arguments are wrong.
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
    else if (word == "--random")
      ok = arguments->counts_networks = number(0, &settings.random);
    else if (word == "--thorough")
      settings.thorough = true;
    else if (word == "--model")
      ok = text(&settings.model);
    else if (word == "--save-failures")
      ok = text(&settings.save_failures);
    else if (word == "--coverage")
      arguments->coverage = true;
    else if (word == "--least-cases")
      ok = number(0, &arguments->least_cases);
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

constexpr char kHelp[] =
    R"(deputy-conformance PLUGIN.so [options]: does a plugin keep the contract of Deputy's plugin ABI?

  --delegate ID      the delegate to test; default: all of the plugin's, one after the other
  --set NAME=VALUE   an option of the delegate; may be repeated
  --config FILE      a YAML configuration whose entry for the delegate gives its options
  --allow-unavailable
                     passes although a delegate says that it cannot run on this machine, so that most tests were skipped
  --quirks FILE      a list of known failures, each with a reason
  --filter GLOB,...  only tests whose name matches one of them, for example 'numerics.Conv,leaks.*'
  --list             names the tests and ends
  --timeout SECONDS  of one case, or of a test without cases; default 20
  --jobs N           tests at a time, each in a process of its own; default: one for each CPU, at most 8
  --seed N           of the generated values and models; default 1
  --random N         random networks of the operators that the delegate takes (fusions.networks); default 200
  --thorough         for a release, about ten minutes: 150 times as many random nodes and networks, more values of each
                     case, longer runs at once
  --model FILE       a model of your own in ONNX's format as well, compared with the host's CPU (host.model)
  --coverage         how many cases of each operator were tested, as a table
  --least-cases N    warns about operators with fewer tested cases; default 8
  --save-failures DIR
                     writes each failing case as a folder with model, inputs and expected outputs in ONNX's test layout,
                     which `deputy test-case` runs
  --junit FILE       writes the result as JUnit XML as well
  --in-process       runs tests in this process, for a debugger
  --verbose          names every test

Exit status: 0 passed, 1 a test failed, 2 wrong usage, 3 passed, but an entry of the quirks no longer fails,
4 nothing failed, but a delegate says that it cannot run on this machine.
)";

int Fail(const std::string& text) {
  std::fprintf(stderr, "deputy-conformance: %s\n", text.c_str());
  return kExitUsage;
}

// The options of the configuration's entry for the delegate; those of --set win. False: there is no such entry.
bool TakeOptions(const deputy::Context& config, Settings* settings) {
  for (const deputy::DeviceInfo& entry : config.ConfiguredDelegates()) {
    if ((entry.delegate.empty() ? entry.name : entry.delegate) != settings->delegate) continue;
    for (const auto& option : entry.options)
      if (std::none_of(settings->options.begin(), settings->options.end(),
                       [&](const auto& set) { return set.first == option.first; }))
        settings->options.push_back(option);
    return true;
  }
  return false;
}

// A round for each delegate to test: the one of --delegate, or those that the manifest names. Without a manifest there
// is one for the plugin's first delegate.
bool Rounds(const Arguments& arguments, std::vector<Settings>* rounds, std::string* error) {
  std::vector<std::string> ids = {arguments.settings.delegate};
  if (ids[0].empty()) ids = PluginFile::Read(arguments.settings.plugin).List("delegates");
  if (ids.empty()) ids = {""};
  for (const std::string& id : ids) {
    rounds->push_back(arguments.settings);
    rounds->back().delegate = id;
  }
  if (arguments.config.empty()) return true;
  const deputy::Result<deputy::Context> config = deputy::Context::FromYaml(arguments.config);
  if (!config.ok()) {
    *error = config.status().ToString();
    return false;
  }
  bool any = false;
  for (Settings& settings : *rounds) any |= TakeOptions(config.value(), &settings);
  *error =
      arguments.config + " has no entry for the delegate '" + ids[0] + "'" + (ids.size() > 1 ? " nor another" : "");
  return any;
}

// Tests of the whole plugin are run once.
bool IsAboutTheDelegate(const Test& test) { return test.name.rfind("entry.", 0) != 0; }

std::vector<TestResult> RunRounds(const std::vector<Test>& tests, const std::vector<Settings>& rounds) {
  std::vector<TestResult> all;
  for (const Settings& settings : rounds) {
    std::vector<Test> own;
    std::copy_if(tests.begin(), tests.end(), std::back_inserter(own),
                 [&](const Test& test) { return &settings == &rounds.front() || IsAboutTheDelegate(test); });
    std::vector<TestResult> results;
    if (settings.in_process)
      for (const Test& test : own) results.push_back(RunHere(test, settings));
    else
      results = RunTests(own, settings);
    for (size_t i = 0; i < results.size(); ++i) {
      if (rounds.size() > 1 && IsAboutTheDelegate(own[i])) results[i].delegate = settings.delegate;
      all.push_back(std::move(results[i]));
    }
  }
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  std::string error;
  if (!ParseArguments(std::vector<std::string>(argv + 1, argv + argc), &arguments, &error)) {
    std::fputs(kHelp, stderr);
    return Fail(error);
  }
  if (arguments.help) {
    std::fputs(kHelp, stdout);
    return kExitPassed;
  }
  Settings& settings = arguments.settings;
  if (settings.thorough && !arguments.counts_networks) settings.random = kThoroughNetworks;
  if (settings.jobs == 0) settings.jobs = std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, 8);
  for (std::string* path : {&settings.model, &settings.save_failures})
    if (!path->empty()) *path = std::filesystem::absolute(*path).string();
  const std::vector<Case> cases = AllCases(settings.seed);
  const std::vector<ModelCase> models = AllModels(settings.seed);
  std::vector<Test> tests;
  for (Test& test : AllTests(cases, models, settings))
    if (MatchesAny(settings.filter, test.name)) tests.push_back(std::move(test));
  if (settings.list) {
    for (const Test& test : tests) std::printf("%s\n", test.name.c_str());
    return kExitPassed;
  }
  if (tests.empty()) return Fail("no test is called '" + settings.filter + "'");
  std::error_code failed;
  const std::string named = settings.plugin;
  settings.plugin = std::filesystem::absolute(named, failed).lexically_normal().string();
  if (failed || !std::filesystem::is_regular_file(settings.plugin)) return Fail(named + " is no file");
  QuirkList quirks;
  if (!settings.quirks.empty() && !QuirkList::Read(settings.quirks, &quirks, &error)) return Fail(error);
  settings.computes_in = quirks.computes_in;

  std::vector<Settings> rounds;
  if (!Rounds(arguments, &rounds, &error)) return Fail(error);

  Judgement judgement = Judge(RunRounds(tests, rounds), quirks);
  if (arguments.allow_unavailable) judgement.unavailable.clear();
  std::fputs(
      TextReport(judgement, named, quirks, {arguments.verbose, arguments.coverage, arguments.least_cases}).c_str(),
      stdout);
  if (!settings.junit.empty()) {
    const deputy::Status written = deputy::WriteOutputFile(settings.junit, JUnitReport(judgement));
    if (!written.ok()) return Fail(written.ToString());
  }
  if (judgement.failed != 0) return kExitFailed;
  if (!judgement.unavailable.empty()) return kExitUnavailable;
  return judgement.unexpected_passes.empty() ? kExitPassed : kExitUnexpectedPass;
}
