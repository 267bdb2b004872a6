#include "cli/exit_code.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <string_view>
#include <vector>

#include "cli/config/config_problems.hpp"
#include "cli/messages.hpp"
#include "cli/terminal/terminal.hpp"

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
        case StatusCode::kNotSupported:  // an unsupported operator
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

constexpr std::string_view kItem = "\n  ";

}  // namespace

int Fail(Stage stage, const Status& status) {
  // A configuration error may contain several problems, one per line. Below the error of nodes without a delegate they
  // are listed. Other messages are one line, even if they quote a name with line breaks.
  const std::string text = status.ToString();
  std::string_view rest = text;
  if (stage == Stage::kModel && status.code() == StatusCode::kNotSupported) {
    std::vector<std::string_view> items;
    for (size_t at; (at = rest.rfind(kItem)) != std::string_view::npos; rest = rest.substr(0, at))
      items.insert(items.begin(), rest.substr(at + kItem.size()));
    PrintError(rest);
    for (const std::string_view item : items) PrintDetail(item);
    return ExitCodeFor(stage, status.code());
  }
  const bool has_lines = status.code() == StatusCode::kConfig || status.code() == StatusCode::kPlugin;
  const auto print = [&](std::string_view line) {
    PrintError(line);
    if (has_lines) PrintExcerpt(ExcerptOf(line, TerminalOf(stderr)));
  };
  for (size_t end; status.code() == StatusCode::kConfig && (end = rest.find('\n')) != std::string_view::npos;) {
    if (end != 0) print(rest.substr(0, end));
    rest.remove_prefix(end + 1);
  }
  if (!rest.empty()) print(rest);
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
