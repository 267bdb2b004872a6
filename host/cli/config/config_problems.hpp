// The problems of a configuration as text with the lines of their files, and as JSON.
#pragma once

#include <cstddef>
#include <string_view>

#include "cli/report/json_report.hpp"
#include "cli/terminal/terminal.hpp"
#include "deputy/config.hpp"

namespace deputy::cli {

// "deputy: error: file:line:column: message", and where the file still has that line, the line with the place marked.
Shown ProblemText(const ConfigProblem& problem, const Terminal& terminal);
// The same line for a message that begins with its place, "file:line:column: "; empty for any other.
Shown ExcerptOf(std::string_view message, const Terminal& terminal);
Json ToJson(const ConfigProblem& problem);
// A log of SARIF 2.1.0, which services for code review show beside the lines.
Json SarifOf(const std::vector<ConfigProblem>& problems);

}  // namespace deputy::cli
