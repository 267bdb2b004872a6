// All checks of `deputy doctor`, which `deputy report` writes too.
#pragma once

#include <optional>

#include "cli/command.hpp"
#include "cli/commands/health_checks.hpp"
#include "cli/report/json_report.hpp"

namespace deputy::cli {

// Opens the delegates of `context`, which was read from `options`; empty: the configuration has errors.
HealthChecks CheckAll(const ContextOptions& options, const std::optional<Context>& context);
Json ToJson(const HealthChecks& checks);

}  // namespace deputy::cli
