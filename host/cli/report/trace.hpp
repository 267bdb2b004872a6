// Runs as a trace for Chrome's and Perfetto's viewers; host/docs/cli.md lists its events.
#pragma once

#include <string>
#include <vector>

#include "cli/report/run_profile.hpp"
#include "deputy/placement.hpp"

namespace deputy::cli {

// JSON with `traceEvents`, times in microseconds from the begin of the first run. The host's process has the name of
// the file `model`; `delegates` are those of the session, for the clocks of their devices.
std::string TraceJson(const std::string& model, const std::vector<ProfiledRun>& runs,
                      const std::vector<DelegateReport>& delegates);

}  // namespace deputy::cli
