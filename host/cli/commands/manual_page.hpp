// Manual pages, generated from the description of the commands: deputy(1), and deputy-COMMAND(1) for each command.
#pragma once

#include <string>

#include "cli/command_tree.hpp"

namespace deputy::cli {

// In the macros of man(7). The page of a command describes the commands below it too.
std::string ManualPage(const CommandText& program);
std::string ManualPage(const CommandText& program, const CommandText& command);

}  // namespace deputy::cli
