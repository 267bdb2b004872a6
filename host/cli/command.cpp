#include "cli/command.hpp"

#include <CLI/CLI.hpp>

namespace deputy::cli {

void SetExample(CLI::App& syntax, const std::string& example) { syntax.footer("Example:\n  " + example); }

}  // namespace deputy::cli
