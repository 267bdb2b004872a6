// A part of a test in a process of its own, which ends before the test continues: the plugin is loaded anew there, so
// that the parts share none of its memory.
#pragma once

#include <functional>
#include <optional>

#include "packed.hpp"
#include "test.hpp"

namespace deputy::conformance {

// Runs `job` before this process has loaded the plugin. Findings of the job are findings of `run`; nothing, and a
// failure about `subject`, when the process ended early.
std::optional<Packed> InOtherProcess(TestRun& run, const std::string& subject,
                                     const std::function<Packed(TestRun&)>& job);

}  // namespace deputy::conformance
