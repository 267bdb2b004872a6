// How com.microsoft turns pairs of numbers by the angle of their position: in RotaryEmbedding, and inside of
// GroupQueryAttention.
#pragma once

#include <algorithm>
#include <cstdint>

namespace deputy::host {

// Cosines and sines are [positions, half]: of each row the first 2 * half numbers turn, the rest stays.
template <class T>
struct Rotation {
  const T *cosines = nullptr, *sines = nullptr;
  int64_t positions = 0, half = 0;
  bool interleaved = false;

  void Turn(int64_t position, int64_t size, const T* x, T* y) const {
    const T *cosine = cosines + position * half, *sine = sines + position * half;
    const int64_t step = interleaved ? 2 : 1, other = interleaved ? 1 : half;
    for (int64_t i = 0; i < half; ++i) {
      const T a = x[i * step], b = x[i * step + other];
      y[i * step] = cosine[i] * a - sine[i] * b;
      y[i * step + other] = sine[i] * a + cosine[i] * b;
    }
    std::copy(x + 2 * half, x + size, y + 2 * half);
  }
};

}  // namespace deputy::host
