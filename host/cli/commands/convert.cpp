// deputy convert: writes a model in Deputy's own format, whose weights are mapped instead of parsed.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "cli/command.hpp"
#include "cli/exit_code.hpp"
#include "cli/report/json_report.hpp"
#include "cli/terminal/quantity.hpp"
#include "cli/terminal/terminal.hpp"
#include "deputy/context.hpp"
#include "deputy/model.hpp"

namespace deputy::cli {
namespace {

struct ConvertOptions {
  std::string model, output;
  ContextOptions context;
  bool json = false;
};

int RunConvert(const ConvertOptions& options) {
  std::error_code error;
  if (std::filesystem::equivalent(options.model, options.output, error))
    return FailUsage(fmt::format("{}: is the model itself; give another file to --output", options.output));
  // A delegate may be needed for operators of its own.
  int exit_status = kDone;
  const std::optional<Context> context = options.context.Open(exit_status);
  if (!context) return exit_status;
  Model model;
  Status status = model.Build(options.model, *context);
  if (!status.ok()) return Fail(Stage::kModel, status);
  status = model.Save(options.output);
  if (!status.ok()) return Fail(Stage::kRun, status);
  const auto size = std::filesystem::file_size(options.output, error);
  if (options.json) {
    PrintJson({{"model", options.model}, {"output", options.output}, {"bytes", error ? Json(nullptr) : Json(size)}});
  } else {
    Print("{}: {}\n", options.output, error ? "written" : BytesText(size));
  }
  return kDone;
}

}  // namespace

Command MakeConvertCommand(CLI::App& app) {
  auto options = std::make_shared<ConvertOptions>();
  CLI::App* syntax = app.add_subcommand("convert", "Convert a model to .dpm, which loads without parsing its weights");
  AddModel(*syntax, options->model);
  syntax->add_option("-o,--output", options->output, "Output file")->required()->type_name("FILE");
  options->context.AddTo(*syntax);
  AddJson(*syntax, options->json);
  SetExample(*syntax, "deputy convert model.onnx -o model.dpm");
  return {syntax, [options] { return RunConvert(*options); }};
}

}  // namespace deputy::cli
