// The plugin onednn; what it gives back by default is run as well.
#include "fuzz/plugin_run.hpp"

std::vector<deputy::fuzz::PluginOptions> deputy::fuzz::OptionsOfThePlugin() {
  return {{{"threads", "1"}}, {{"threads", "1"}, {"accept", "everything"}}};
}
