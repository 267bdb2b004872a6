// The JSON Schema of configuration files, with the options of the plugins that were found.
#pragma once

#include "cli/json_report.hpp"
#include "deputy/plugins.hpp"

namespace deputy::cli {

// A delegate's options are checked if its plugin is in the listing; other delegates accept any options.
Json SchemaWithOptions(const PluginListing& listing);

}  // namespace deputy::cli
