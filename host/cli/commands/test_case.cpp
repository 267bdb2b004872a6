// deputy test-case: runs cases in the layout of ONNX's backend tests, prints one line each, and counts the results.
#include "cli/inputs/test_case.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/exit_code.hpp"
#include "cli/messages.hpp"
#include "cli/report/json_report.hpp"
#include "cli/terminal/progress.hpp"
#include "cli/terminal/terminal.hpp"

namespace deputy::cli {
namespace {

struct TestCaseOptions {
  std::vector<std::string> folders;
  ContextOptions context;
  CaseOptions cases;
  bool json = false;
};

// "npu0 12/14 nodes": the first delegate's share, where there is more than the CPU.
std::string Share(const CaseResult& result) {
  if (result.verdict == CaseVerdict::kSkip || result.nodes.size() < 2) return {};
  size_t all = 0;
  for (const auto& [name, nodes] : result.nodes) all += nodes;
  return fmt::format(", {} {}/{} nodes", result.nodes.front().first, result.nodes.front().second, all);
}

void PrintLine(const CaseResult& result, const Terminal& terminal) {
  const Paint paint = result.verdict == CaseVerdict::kPass   ? Paint::kGood
                      : result.verdict == CaseVerdict::kFail ? Paint::kBad
                                                             : Paint::kDim;
  Print("{}  {}  {}{}\n", terminal.Paint(paint, NameOf(result.verdict)), result.name, result.detail, Share(result));
  FlushOutput();
}

Json JsonOf(const CaseResult& result, const std::string& folder) {
  Json nodes = Json::object();
  for (const auto& [name, count] : result.nodes) nodes[name] = count;
  return {{"name", result.name},
          {"folder", folder},
          {"result", NameOf(result.verdict)},
          {"detail", result.detail},
          {"nodes", std::move(nodes)}};
}

int RunTestCase(const TestCaseOptions& options) {
  for (const std::string& folder : options.folders) {
    std::error_code error;
    if (!std::filesystem::exists(folder, error)) return FailUsage(folder + ": no such directory");
  }
  PrintLogOnce(LogLevel::kWarning);  // lines about placements would hide the results
  int exit_status = kDone;
  const std::optional<Context> context = options.context.Open(exit_status);
  if (!context) return exit_status;

  const Terminal terminal = TerminalOf(stdout);
  std::array<size_t, 3> counts{};
  Json cases = Json::array();
  for (size_t i = 0; i < options.folders.size(); ++i) {
    ShowProgress(fmt::format("[{}/{}] {}", i + 1, options.folders.size(), options.folders[i]));
    const CaseResult result = RunCase(options.folders[i], *context, options.cases);
    ++counts[static_cast<size_t>(result.verdict)];
    if (options.json) {
      cases.push_back(JsonOf(result, options.folders[i]));
    } else {
      PrintLine(result, terminal);
    }
  }
  ClearProgress();
  const auto [passed, failed, skipped] = counts;
  if (options.json) {
    PrintJson({{"cases", std::move(cases)}, {"passed", passed}, {"failed", failed}, {"skipped", skipped}});
  } else {
    Print("{} passed, {} failed, {} skipped\n", passed, failed, skipped);
  }
  if (passed == 0 && failed == 0) return FailNo("no output was compared: every case was skipped");
  return failed == 0 ? kDone : kNo;
}

}  // namespace

Command MakeTestCaseCommand(CLI::App& app) {
  auto options = std::make_shared<TestCaseOptions>();
  CLI::App* syntax = app.add_subcommand("test-case", "Run cases in the layout of ONNX's backend tests");
  syntax
      ->add_option("folders", options->folders,
                   "Case: directory with model.onnx or model.tflite, and test_data_set_*/{input,output}_*.pb")
      ->required()
      ->type_name("DIR");
  options->context.AddTo(*syntax);
  options->cases.tolerance.AddTo(*syntax);
  AddRepeated(*syntax, "--except", options->cases.excepted, "NAME", "Output to compare only by type and shape");
  syntax->add_flag("--via-dpm", options->cases.via_dpm, "Convert each model to .dpm and run the result");
  syntax->add_option("--sessions", options->cases.sessions, "Concurrent sessions, each starting with another data set")
      ->capture_default_str()
      ->check(CLI::Range(1, 64))
      ->type_name("N");
  syntax
      ->add_option("--in-flight", options->cases.in_flight,
                   "Submit each data set N times at once to its session, and compare all results")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  AddJson(*syntax, options->json);
  SetExample(*syntax, "deputy test-case onnx/backend/test/data/node/test_conv* --config npu-first --atol-scale 1e-2");
  return {syntax, [options] { return RunTestCase(*options); }};
}

}  // namespace deputy::cli
