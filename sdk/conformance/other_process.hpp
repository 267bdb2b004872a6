// A part of a test in a process of its own, which ends before the test goes on: the plugin is loaded there afresh, so
// that nothing that it keeps in memory can help the other part.
#pragma once

#include <functional>
#include <optional>

#include "packed.hpp"
#include "test.hpp"

namespace deputy::conformance {

// Runs `job` before this process has loaded the plugin. Findings of the job are findings of `run`; nothing, and a
// failure about `subject`, when the process did not come to its end.
std::optional<Packed> InOtherProcess(TestRun& run, const std::string& subject,
                                     const std::function<Packed(TestRun&)>& job);

}  // namespace deputy::conformance
