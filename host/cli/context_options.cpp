#include "cli/context_options.hpp"

#include <CLI/CLI.hpp>
#include <utility>

#include "cli/exit_code.hpp"

namespace deputy::cli {

CLI::Option* AddRepeated(CLI::App& syntax, const std::string& flag, std::vector<std::string>& values,
                         const std::string& form, const std::string& help) {
  return syntax.add_option(flag, values, help + "; repeatable")
      ->type_name(form)
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void ContextOptions::AddTo(CLI::App& syntax) {
  syntax.add_option("--config", config, "Configuration file [default: CPU only]")->type_name("FILE");
  AddRepeated(syntax, "--set", settings, "PATH=VALUE",
              "Override a value of the configuration, e.g. delegates.npu0.options.frequency=low");
}

std::optional<Context> ContextOptions::Read(int& exit_status) const {
  Result<Context> context = Context::FromYaml(config, settings);
  const Status status = context.ok() ? context->Check() : context.status();
  if (status.ok()) return std::move(context).value();
  exit_status = Fail(Stage::kSetup, status);
  return std::nullopt;
}

std::optional<Context> ContextOptions::Open(int& exit_status) const {
  std::optional<Context> context = Read(exit_status);
  if (!context) return std::nullopt;
  const Status loaded = context->Load();
  if (loaded.ok()) return context;
  exit_status = Fail(Stage::kDelegates, loaded);
  return std::nullopt;
}

}  // namespace deputy::cli
