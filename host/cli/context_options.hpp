// --config and --set, and the Context made from them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "deputy/context.hpp"

namespace deputy::cli {

struct ContextOptions {
  std::string config;  // empty: the built-in defaults, only the CPU
  std::vector<std::string> settings;

  void AddTo(CLI::App& syntax);
  // Reads and checks the configuration. On an error: prints it, sets the exit status, and returns nothing.
  std::optional<Context> Read(int& exit_status) const;
  // Reads the configuration and opens its delegates.
  std::optional<Context> Open(int& exit_status) const;
};

// An option that may be repeated and takes one value each time.
CLI::Option* AddRepeated(CLI::App& syntax, const std::string& flag, std::vector<std::string>& values,
                         const std::string& form, const std::string& help);

}  // namespace deputy::cli
