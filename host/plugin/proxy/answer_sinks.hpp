// Sinks of the ABI for the answers of a plugin during placement. A sink converts each answer and passes it to its
// collector, which outlives the sink and counts refused answers.
#pragma once

#include "delegate/answers.hpp"
#include "deputy/abi/delegate.h"
#include "deputy/abi/ext/estimate.h"
#include "deputy/abi/ext/propose.h"

namespace deputy::host {

deputy_support_sink SinkOf(SupportCollector& to);
deputy_claim_sink SinkOf(ClaimCollector& to);
deputy_group_sink SinkOf(GroupCollector& to);
deputy_estimate_sink SinkOf(EstimateCollector& to);

}  // namespace deputy::host
