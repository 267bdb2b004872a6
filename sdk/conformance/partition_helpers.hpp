// The kit's host extension deputy.partition_helpers/1.
#pragma once

#include "deputy/abi/ext/partition_helpers.h"
#include "host_services.hpp"

namespace deputy::conformance {

// The table points to `host`, which records faults of calls.
deputy_ext_partition_helpers HelpersOf(HostServices& host);

}  // namespace deputy::conformance
