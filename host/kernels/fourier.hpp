// Discrete Fourier transforms of one line after the other.
#pragma once

#include <cstddef>
#include <cstdint>

namespace deputy::host {

// Lengths that are powers of two take n log n steps, others n^2. One transform at a time uses FourierMemory doubles,
// prepared once by PrepareFourier.
size_t FourierMemory(int64_t length);
void PrepareFourier(int64_t length, double* memory);
// Elementary steps of one transform, about.
int64_t FourierSteps(int64_t length);

// In place, with an incomplete result where the run ends: `line` holds `length` pairs of real and imaginary part. The
// inverse is divided by the length.
void Transform(int64_t length, bool inverse, double* line, double* memory);

}  // namespace deputy::host
