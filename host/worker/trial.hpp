// The end of a probe: each delegate of the plugin is opened with its defaults and compiles one node, so that a damaged
// file fails here, and not in its first use.
#pragma once

#include <memory>

#include "base/function_ref.hpp"
#include "plugin/discovery/description.hpp"
#include "plugin/discovery/loaded_plugin.hpp"
#include "plugin/discovery/probe_wire.hpp"

namespace deputy::host {

// Only how calls end matters, not what they answer: a device may be absent or in use, and a delegate may have none of
// the nodes. `announce` is called before each step.
void TryDelegates(const std::shared_ptr<LoadedPlugin>& plugin, const PluginDescription& description,
                  FunctionRef<void(ProbeStage)> announce);

}  // namespace deputy::host
