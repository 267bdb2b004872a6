// The plugin null, with the one operator that it can take.
#include "fuzz/plugin_run.hpp"

std::vector<deputy::fuzz::PluginOptions> deputy::fuzz::OptionsOfThePlugin() { return {{{"claim_identity", "true"}}}; }
