// The JSON Schema of configuration files, with what the plugins here say about their options.
#pragma once

#include "cli/json_report.hpp"
#include "deputy/plugins.hpp"

namespace deputy::cli {

// A delegate's options are checked where its plugin is in the listing; of others any are accepted.
Json SchemaWithOptions(const PluginListing& listing);

}  // namespace deputy::cli
