// The table `deputy.partition_helpers/1` that the host offers to plugins.
#pragma once

#include "delegate/partition_helpers.hpp"
#include "deputy/abi/ext/partition_helpers.h"

namespace deputy::host {

// `self` of the table is the helpers, which must outlive it.
deputy_ext_partition_helpers MakeHelperTable(const PartitionHelpers& helpers);

}  // namespace deputy::host
