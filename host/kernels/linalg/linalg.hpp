// The linear algebra under the neural operators: one interface, computed by the best instruction set that the machine
// has (level.hpp). Everything here runs on the calling thread; callers split the work over the pool.
#pragma once

#include <cstdint>

namespace deputy::host::linalg {

// C[m,n] = alpha * op(A)[m,k] * op(B)[k,n] + beta * C, all row-major. A leading dimension is the distance between two
// rows as they are stored. With beta == 0 the old C is not read.
template <class T>
struct GemmArgs {
  int64_t m = 0, n = 0, k = 0;
  const T* a = nullptr;
  int64_t lda = 0;
  bool transpose_a = false;
  const T* b = nullptr;
  int64_t ldb = 0;
  bool transpose_b = false;
  T* c = nullptr;
  int64_t ldc = 0;
  T alpha = 1, beta = 0;
};

// [any-thread] Allocates nothing once the thread has seen a product as large.
void Gemm(const GemmArgs<float>& args);
void Gemm(const GemmArgs<double>& args);

// Weighted sums of shifted rows: y[r * y_step + i] = bias + sum over t < taps of weights[t] * x[r * x_step + offsets[t]
// + i], for r < rows and i < count. [any-thread]
template <class T>
struct TapsArgs {
  int64_t rows = 0, count = 0, taps = 0;
  const T* x = nullptr;
  int64_t x_step = 0;
  const int64_t* offsets = nullptr;
  const T* weights = nullptr;
  T bias = 0;
  T* y = nullptr;
  int64_t y_step = 0;
};

void SumTaps(const TapsArgs<float>& args);
void SumTaps(const TapsArgs<double>& args);

}  // namespace deputy::host::linalg
