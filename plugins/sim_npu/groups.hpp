// Nodes that the device accepts only together.
#pragma once

#include "deputy/sdk/sdk.hpp"

namespace sim_npu {

// A copy is placed with the one operator that reads it, or rejected: by itself it costs two transfers and saves
// nothing.
deputy::sdk::Status NameGroups(const deputy::sdk::GraphView& graph, const deputy::sdk::GroupSink& sink);

}  // namespace sim_npu
