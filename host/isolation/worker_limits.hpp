// The limits of a worker process, to be kept with its faults.
#pragma once

#include <string_view>

#include "base/fault_limits.hpp"
#include "isolation/serve.hpp"

namespace deputy::host {

// But those of time: a crash may be the answer to memory, or to a right, that was not there.
FaultLimits LimitsOfSurroundings(const RemotePluginOptions& options);
// The limit of time of this name, of FaultLimits; of another name none.
FaultLimits LimitsOfTime(const RemotePluginOptions& options, std::string_view name);

}  // namespace deputy::host
