// The 16-bit floats for kernels; their conversions are in a lower folder because the graph's upgrade pass makes
// constants of these types too.
#pragma once

#include "tensor/half.hpp"
