// What the host lends to plugins of its own partitioning.
#pragma once

#include "delegate/partition_helpers.hpp"

namespace deputy::host {

// Lives as long as the process.
const PartitionHelpers& DefaultPartitionHelpers();

}  // namespace deputy::host
