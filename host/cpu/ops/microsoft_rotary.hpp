// The rotation of pairs of numbers by the angle of their position in com.microsoft's RotaryEmbedding and
// GroupQueryAttention.
#pragma once

#include <algorithm>
#include <cstdint>

namespace deputy::host {

// Cosines and sines are [positions, half]: the first 2 * half numbers of each row are rotated, the rest is unchanged.
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
