// The plugin sim_npu, on a device whose memory is soon full.
#include "fuzz/plugin_run.hpp"

std::vector<deputy::fuzz::PluginOptions> deputy::fuzz::OptionsOfThePlugin() { return {{{"memory", "4"}}}; }
