// Assigns offsets in one arena to temporaries so that those in use at the same time do not overlap.
#pragma once

#include "executable.hpp"

namespace onednn {

// Sets the offset of every temporary that a step uses; returns the bytes of the arena.
size_t PlanMemory(const std::vector<Step>& steps, std::vector<Buffer>& buffers);

constexpr size_t kAlignment = 64;

}  // namespace onednn
