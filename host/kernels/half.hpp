// The 16-bit floats, under the name that kernels know them by; the conversions stand lower because the graph's upgrade
// pass makes constants of these types too.
#pragma once

#include "tensor/half.hpp"
