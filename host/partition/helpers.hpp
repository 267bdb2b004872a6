// Partitioning helpers that the host offers to plugins which partition by themselves.
#pragma once

#include "delegate/partition_helpers.hpp"

namespace deputy::host {

// Lives as long as the process.
const PartitionHelpers& DefaultPartitionHelpers();

}  // namespace deputy::host
