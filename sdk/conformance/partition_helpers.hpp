// The host extension deputy.partition_helpers/1 as the kit offers it to plugins.
#pragma once

#include "deputy/abi/ext/partition_helpers.h"
#include "host_services.hpp"

namespace deputy::conformance {

// The table points to `host`, which writes down what is wrong with a call.
deputy_ext_partition_helpers HelpersOf(HostServices& host);

}  // namespace deputy::conformance
