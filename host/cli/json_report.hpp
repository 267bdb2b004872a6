// Reports as JSON. The keys are promised: host/docs/cli.md lists them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "deputy/model.hpp"
#include "deputy/placement.hpp"
#include "deputy/plugins.hpp"

namespace deputy::cli {

using Json = nlohmann::ordered_json;

Json ToJson(const PlacementReport& report);
Json ToJson(const PluginListing& listing);
Json ToJson(const NodeReport& node);
Json ToJson(const CapabilityReport& row);

// Indented, with a newline, in ASCII: a terminal that shows it sees no character of a name that could steer it. Names
// in models need not be UTF-8: what is not becomes the replacement character.
std::string JsonText(const Json& json);
void PrintJson(const Json& json);

}  // namespace deputy::cli
