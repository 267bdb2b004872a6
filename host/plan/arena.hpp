// Offsets of values in one block of memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/function_ref.hpp"
#include "plan/plan.hpp"

namespace deputy::host {

// Gives every arena slot an offset so that no two values that live at the same time overlap, and returns the size, or
// SIZE_MAX when no memory can be that large. `first` and `last` are the steps in which a value is written first and
// read last; linear-logarithmic.
size_t AssignOffsets(std::span<Slot> slots, std::span<const uint32_t> first, std::span<const uint32_t> last,
                     size_t step_count);

// The same for lives that are known by pairs: two arena slots overlap only if `apart` of their numbers. Quadratic.
size_t AssignOffsets(std::span<Slot> slots, FunctionRef<bool(uint32_t, uint32_t)> apart);

}  // namespace deputy::host
