// Reports as JSON. The keys are stable and listed in host/docs/cli.md.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "deputy/cache.hpp"
#include "deputy/model.hpp"
#include "deputy/placement.hpp"
#include "deputy/plugins.hpp"
#include "deputy/quarantine.hpp"

namespace deputy::cli {

using Json = nlohmann::ordered_json;

Json ToJson(const PlacementReport& report);
Json ToJson(const PluginListing& listing);
Json ToJson(const PluginReport& plugin);
Json ToJson(const NodeReport& node);
Json ToJson(const CapabilityReport& row);
Json ToJson(const CacheListing& listing);
Json ToJson(const std::vector<QuarantinedPlugin>& plugins);

const char* CacheStateText(CacheEntryState state);  // "intact", "other version", ...
uint64_t TotalBytes(const CacheListing& listing);

// Indented, with a newline, in ASCII: no character of a name can control a terminal. Bytes of names that are not UTF-8
// become the replacement character.
std::string JsonText(const Json& json);
void PrintJson(const Json& json);

}  // namespace deputy::cli
