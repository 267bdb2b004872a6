// deputy-conformance, with which a vendor checks that a plugin fulfils the contract of the ABI.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>

#include "arguments.hpp"
#include "deputy/deputy.hpp"
#include "plugin_file.hpp"
#include "report/verdict.hpp"
#include "text.hpp"

namespace {

using namespace deputy::conformance;

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
    std::fputs(HelpText().c_str(), stderr);
    return Fail(error);
  }
  if (arguments.help) {
    std::fputs(HelpText().c_str(), stdout);
    return kExitPassed;
  }
  Settings& settings = arguments.settings;
  const std::vector<Case> cases = AllCases(settings.seed);
  const std::vector<ModelCase> models = AllModels(settings.seed);
  std::vector<Test> tests;
  for (Test& test : AllTests(cases, models))
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
  std::fputs(TextReport(judgement, named, quirks, arguments.verbose).c_str(), stdout);
  if (!settings.junit.empty()) {
    const deputy::Status written = deputy::WriteOutputFile(settings.junit, JUnitReport(judgement));
    if (!written.ok()) return Fail(written.ToString());
  }
  if (judgement.failed != 0) return kExitFailed;
  if (!judgement.unavailable.empty()) return kExitUnavailable;
  return judgement.unexpected_passes.empty() ? kExitPassed : kExitUnexpectedPass;
}
