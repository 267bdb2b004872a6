// Finds outputs that a run did not write. Before the run they hold a pattern that differs from position to position;
// where a result equals it nonetheless, a second run on the inverted pattern decides.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/function_ref.hpp"
#include "delegate/delegate.hpp"

namespace deputy::host {

void FillPattern(void* data, size_t size, bool inverted);

// Some unit still holds the pattern, as far as one run can tell. Units of 1, 2 or 4 bytes begin at multiples of their
// size; the rest at the end counts as one.
bool HoldsPattern(const void* data, size_t size, size_t unit);

struct Unwritten {
  size_t output = 0;
  size_t first = 0, bytes = 0, size = 0;  // of the output: the first such byte, how many, all
};
// "its output 0 ('y') was not written"
std::string Describe(const Unwritten& found, std::string_view name);

// Units that held the pattern after the first run and its inverse after the second.
std::optional<Unwritten> CompareRuns(size_t output, const void* first, const void* second, size_t size, size_t unit);

// Host memory that is not empty, so that it can be filled and read.
bool IsReadable(const deputy_tensor& tensor);
// The unit of the comparison: single elements in a checked delegate, so that bytes cause a second run almost always;
// otherwise 4 bytes, which random results hold once in 2^32.
size_t UnitOf(const deputy_tensor& tensor, bool by_element);

// Fills the outputs, calls `run` with the arguments that it executes with, and a second time where that is needed. An
// output that `run` allocates is filled then. One that shares memory with an input or another output is left out. Of a
// descriptor that `run` changes, the memory that it named before counts.
Result<std::optional<Unwritten>> RunOnPattern(const RunArgs& args, bool by_element,
                                              FunctionRef<Status(const RunArgs&)> run);

}  // namespace deputy::host
