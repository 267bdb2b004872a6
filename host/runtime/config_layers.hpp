// The files of a configuration's layers, where this system and this user keep them.
#pragma once

#include <string>

#include "config/loader.hpp"
#include "deputy/config.hpp"

namespace deputy::host {

// Adds a configuration by its path or, if it is a shipped one, by its name.
void AddNamed(const std::string& named, ConfigLoader& loader);
// Adds the layers of ConfigSources. A message for the user where the default of the installation is used, else empty.
std::string AddLayers(const ConfigSources& sources, ConfigLoader& loader);

}  // namespace deputy::host
