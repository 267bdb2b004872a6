// What a fuzz target of a plugin is: the plugin, built into the program, and the options with which it is opened.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace deputy::fuzz {

using PluginOptions = std::vector<std::pair<std::string, std::string>>;

// One instance of the plugin's delegate for each list. Each source that a target adds defines this.
std::vector<PluginOptions> OptionsOfThePlugin();

}  // namespace deputy::fuzz
