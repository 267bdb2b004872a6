// All checks of `deputy doctor`, which `deputy report` writes too.
#pragma once

#include "cli/command.hpp"
#include "cli/commands/health_checks.hpp"
#include "cli/report/json_report.hpp"

namespace deputy::cli {

// Opens the delegates of the configuration, if it has no errors, which are printed.
HealthChecks CheckAll(const ContextOptions& options);
Json ToJson(const HealthChecks& checks);

}  // namespace deputy::cli
