// Which nodes the device takes only together.
#pragma once

#include "deputy/sdk/sdk.hpp"

namespace sim_npu {

// Copies go with the one operator that reads them, or not at all: by itself a copy costs two transfers and saves
// nothing.
deputy::sdk::Status NameGroups(const deputy::sdk::GraphView& graph, const deputy::sdk::GroupSink& sink);

}  // namespace sim_npu
