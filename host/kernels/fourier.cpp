#include "kernels/fourier.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <utility>

#include "base/cancellation.hpp"
#include "kernels/parts.hpp"

namespace deputy::host {
namespace {

bool IsPowerOfTwo(int64_t length) { return std::has_single_bit(static_cast<uint64_t>(length)); }

constexpr int64_t kFourierPart = 1 << 18;  // of a long line: numbers after which a run may end

// A complex number, with x += y * (re + i im) and similar operations on pairs.
struct Complex {
  double re, im;
};
Complex At(const double* pairs, int64_t i) { return {pairs[2 * i], pairs[2 * i + 1]}; }
Complex Times(Complex a, Complex b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
void Put(double* pairs, int64_t i, Complex value) {
  pairs[2 * i] = value.re;
  pairs[2 * i + 1] = value.im;
}

// Cooley-Tukey, radix two: bit-reversed order, then butterflies of growing width.
void Fast(int64_t length, bool inverse, double* line, const double* roots) {
  EndCheck check;
  for (int64_t i = 1, j = 0; i < length; ++i) {
    if (check.Ends(4)) return;
    int64_t bit = length >> 1;
    for (; (j & bit) != 0; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) {
      std::swap(line[2 * i], line[2 * j]);
      std::swap(line[2 * i + 1], line[2 * j + 1]);
    }
  }
  for (int64_t width = 2; width <= length; width *= 2) {
    const auto butterflies = [&](int64_t start, int64_t first, int64_t last) {
      for (int64_t k = first; k < last; ++k) {
        Complex root = At(roots, k * (length / width));
        if (inverse) root.im = -root.im;
        const Complex even = At(line, start + k), odd = Times(At(line, start + k + width / 2), root);
        Put(line, start + k, {even.re + odd.re, even.im + odd.im});
        Put(line, start + k + width / 2, {even.re - odd.re, even.im - odd.im});
      }
    };
    InParts(length / width, std::max<int64_t>(1, kFourierPart / width), [&](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block)
        InParts(width / 2, kFourierPart, [&](int64_t first, int64_t last) { butterflies(block * width, first, last); });
    });
  }
}

}  // namespace

// The roots of unity; for other lengths also a copy of the line.
size_t FourierMemory(int64_t length) { return static_cast<size_t>(length) * (IsPowerOfTwo(length) ? 2 : 4); }

int64_t FourierSteps(int64_t length) { return StepsOf(4 * length, IsPowerOfTwo(length) ? LevelsOf(length) : length); }

void PrepareFourier(int64_t length, double* memory) {
  InParts(length, kFourierPart, [&](int64_t first, int64_t last) {
    for (int64_t k = first; k < last; ++k) {
      const double angle = -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(length);
      Put(memory, k, {std::cos(angle), std::sin(angle)});
    }
  });
}

void Transform(int64_t length, bool inverse, double* line, double* memory) {
  if (IsPowerOfTwo(length)) {
    Fast(length, inverse, line, memory);
  } else {
    double* const copy = memory + 2 * length;
    CopyInParts(copy, line, 2 * static_cast<size_t>(length) * sizeof(double));
    const auto sum_of = [&](int64_t k) {
      Complex sum{0, 0};
      int64_t turn = 0;
      InParts(length, kFourierPart, [&](int64_t first, int64_t last) {
        for (int64_t n = first; n < last; ++n) {
          Complex root = At(memory, turn);
          if (inverse) root.im = -root.im;
          const Complex term = Times(At(copy, n), root);
          sum = {sum.re + term.re, sum.im + term.im};
          turn += k;
          if (turn >= length) turn -= length;
        }
      });
      return sum;
    };
    InParts(length, std::max<int64_t>(1, kFourierPart / std::max<int64_t>(1, length)),
            [&](int64_t first, int64_t last) {
              for (int64_t k = first; k < last; ++k) Put(line, k, sum_of(k));
            });
  }
  if (!inverse) return;
  InParts(2 * length, kFourierPart, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) line[i] /= static_cast<double>(length);
  });
}

}  // namespace deputy::host
