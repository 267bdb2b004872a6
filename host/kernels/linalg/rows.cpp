#include "kernels/linalg/rows.hpp"

#include "kernels/linalg/module.hpp"

namespace deputy::host::linalg {

void Apply(RowFunction function, const float* x, int64_t count, float alpha, float beta, float* y) {
  ActiveModule().rows.apply[static_cast<int>(function)](x, count, alpha, beta, y);
}
void Apply(PairFunction function, const float* a, int64_t a_step, const float* b, int64_t b_step, int64_t count,
           float* y) {
  ActiveModule().rows.apply_pairs[static_cast<int>(function)](a, a_step, b, b_step, count, y);
}
double Sum(const float* x, int64_t count) { return ActiveModule().rows.sum(x, count); }
double SumOfSquares(const float* x, int64_t count, double mean) {
  return ActiveModule().rows.sum_of_squares(x, count, mean);
}
float Largest(const float* x, int64_t count) { return ActiveModule().rows.largest(x, count); }
void Softmax(const float* x, int64_t count, float* y) { ActiveModule().rows.softmax(x, count, y); }
void LogSoftmax(const float* x, int64_t count, float* y) { ActiveModule().rows.log_softmax(x, count, y); }
void Normalize(const float* x, int64_t count, float mean, float inverse, const float* scale, const float* bias,
               float* y) {
  ActiveModule().rows.normalize(x, count, mean, inverse, scale, bias, y);
}
void Pool(const PoolArgs& args) { ActiveModule().rows.pool(args); }

}  // namespace deputy::host::linalg
