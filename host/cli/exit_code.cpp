#include "cli/exit_code.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <string_view>

#include "cli/terminal.hpp"

namespace deputy::cli {

ExitCode ExitCodeFor(Stage stage, StatusCode code) {
  switch (code) {
    case StatusCode::kOk: return kDone;
    case StatusCode::kConfig: return kUsage;
    case StatusCode::kModel: return kModelFile;
    case StatusCode::kPlugin: return kPluginTrouble;
    default: break;
  }
  switch (stage) {
    case Stage::kSetup: return kUsage;
    case Stage::kDelegates: return code == StatusCode::kInvalidArgument ? kUsage : kPluginTrouble;
    case Stage::kModel:
      switch (code) {
        case StatusCode::kInvalidArgument: return kUsage;
        case StatusCode::kNotFound:
        case StatusCode::kNotSupported:  // an operator that nobody has
        case StatusCode::kIncompatible:
        case StatusCode::kUnavailable:
        case StatusCode::kResourceExhausted: return kModelFile;
        default: return kRunFailed;
      }
    case Stage::kRun: return code == StatusCode::kNotSupported ? kModelFile : kRunFailed;
  }
  return kRunFailed;
}

namespace {

void PrintError(std::string_view text) {
  ClearProgress();
  const Terminal terminal = TerminalOf(stderr);
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    if (!line.empty()) PrintOnStderr(fmt::format("deputy: {} {}\n", terminal.Paint(Paint::kBad, "error:"), line));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
}

}  // namespace

int Fail(Stage stage, const Status& status) {
  PrintError(status.ToString());
  return ExitCodeFor(stage, status.code());
}

int FailUsage(const std::string& message) {
  PrintError(message);
  return kUsage;
}

int FailNo(const std::string& message) {
  PrintError(message);
  return kNo;
}

int FailRun(const std::string& message) {
  PrintError(message);
  return kRunFailed;
}

}  // namespace deputy::cli
