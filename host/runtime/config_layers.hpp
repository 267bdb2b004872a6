// The files of a configuration's layers, where this system and this user keep them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/judged_file.hpp"
#include "config/loader.hpp"
#include "deputy/config.hpp"

namespace deputy::host {

// How strictly a configuration is judged: whether it is one of the installation.
Judgement JudgementOf(const std::filesystem::path& file);
// Adds a configuration by its path. The error for the name of a shipped one, which is no path, says how to read that.
void AddPath(const std::string& path, ConfigLoader& loader);
// Adds a configuration by its path or, if it is a shipped one, by its name.
void AddNamed(const std::string& named, ConfigLoader& loader);
// For an entry that no layer has: the end of a message that names a shipped configuration which has it; empty if none
// does.
std::string ShippedWith(const std::string& entry);
// A message where the configuration says nothing about delegates, so that the CPU runs every node by default; else
// empty. `files`: of all layers.
std::string NamesNoDelegates(const Config& config, const std::vector<std::filesystem::path>& files);
// Messages about variables of the environment that are nearly one of Deputy's, or have a value without a meaning.
std::vector<std::string> EnvironmentWarnings();
// Does DEPUTY_CHECK ask for `debug: {check: true}`, for a run whose configuration is not to be changed?
bool ChecksByEnvironment();
// Adds the layers of ConfigSources. A message for the user where the default of the installation is used, else empty.
std::string AddLayers(const ConfigSources& sources, ConfigLoader& loader);

}  // namespace deputy::host
