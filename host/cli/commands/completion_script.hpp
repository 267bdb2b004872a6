// Completions for shells, generated from the description of the commands.
#pragma once

#include <string>

#include "cli/command_tree.hpp"

namespace deputy::cli {

// A script for bash 4.3 or later, a function file for zsh, and a script for fish. They ask the program for names that
// are known only at run time: `deputy completion --values configs`, `--values delegates`.
std::string BashCompletion(const CommandText& program);
std::string ZshCompletion(const CommandText& program);
std::string FishCompletion(const CommandText& program);

}  // namespace deputy::cli
