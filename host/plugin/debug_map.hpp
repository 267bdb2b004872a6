// Maps the ids in a plugin's profiling events to nodes of the model.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "delegate/delegate.hpp"
#include "deputy/abi/ext/profiling.h"

namespace deputy::host {

class OpenedDelegate;

using DebugMap = std::map<uint32_t, std::vector<NodeId>>;

// The map of an executable. Duplicates and nodes outside of `nodes` are refused and logged; any other failure leaves
// the map empty, with a line in the log.
DebugMap AskDebugMap(const OpenedDelegate& opened, deputy_executable* executable, std::span<const NodeId> nodes);

}  // namespace deputy::host
