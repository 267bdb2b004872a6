// deputy-conformance: what a vendor runs to see that a plugin keeps its part of the contract.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "arguments.hpp"
#include "deputy/deputy.hpp"
#include "plugin_file.hpp"
#include "report/verdict.hpp"
#include "text.hpp"

namespace {

using namespace deputy::conformance;

int Fail(const std::string& what) {
  std::fprintf(stderr, "deputy-conformance: %s\n", what.c_str());
  return kExitUsage;
}

// The options of the configuration's entry for the delegate; those of --set win.
bool TakeOptions(const std::string& config, Settings* settings, std::string* error) {
  const deputy::Result<deputy::Context> context = deputy::Context::FromYaml(config);
  if (!context.ok()) {
    *error = context.status().ToString();
    return false;
  }
  std::string wanted = settings->delegate;
  const std::vector<std::string> own = PluginFile::Read(settings->plugin).List("delegates");
  if (wanted.empty() && !own.empty()) wanted = own[0];
  for (const deputy::DeviceInfo& entry : context.value().ConfiguredDelegates()) {
    if ((entry.delegate.empty() ? entry.name : entry.delegate) != wanted) continue;
    for (const auto& option : entry.options)
      if (std::none_of(settings->options.begin(), settings->options.end(),
                       [&](const auto& set) { return set.first == option.first; }))
        settings->options.push_back(option);
    return true;
  }
  *error = config + " has no entry for the delegate '" + wanted + "'";
  return false;
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

  if (!arguments.config.empty() && !TakeOptions(arguments.config, &settings, &error)) return Fail(error);

  std::vector<TestResult> results;
  if (settings.in_process)
    for (const Test& test : tests) results.push_back(RunHere(test, settings));
  else
    results = RunTests(tests, settings);
  const Judgement judgement = Judge(results, quirks);
  std::fputs(TextReport(judgement, named, quirks, arguments.verbose).c_str(), stdout);
  if (!settings.junit.empty()) {
    std::ofstream file(settings.junit);
    file << JUnitReport(judgement);
    if (!file.flush()) return Fail(settings.junit + ": cannot be written");
  }
  if (judgement.failed != 0) return kExitFailed;
  return judgement.unexpected_passes.empty() ? kExitPassed : kExitUnexpectedPass;
}
