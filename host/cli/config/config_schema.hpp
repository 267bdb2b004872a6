// The JSON Schema of configuration files with the options of plugins.
#pragma once

#include "cli/report/json_report.hpp"
#include "deputy/plugins.hpp"

namespace deputy::cli {

// A delegate's options are checked if its plugin was run for the listing; other delegates accept any options.
Json SchemaWithOptions(const PluginListing& listing);

}  // namespace deputy::cli
