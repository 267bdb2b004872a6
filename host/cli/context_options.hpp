// --config and --set, and the Context that they make.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "deputy/context.hpp"

namespace deputy::cli {

struct ContextOptions {
  std::string config;  // empty: the built-in default, the CPU alone
  std::vector<std::string> settings;

  void AddTo(CLI::App& syntax);
  // Reads the configuration. Prints what is wrong with it, sets the exit status, and returns nothing.
  std::optional<Context> Read(int& exit_status) const;
  // The same, and opens its delegates.
  std::optional<Context> Open(int& exit_status) const;
};

// An option that takes one value each time it is given, as often as it is given.
CLI::Option* AddRepeated(CLI::App& syntax, const std::string& flag, std::vector<std::string>& values,
                         const std::string& form, const std::string& help);

}  // namespace deputy::cli
