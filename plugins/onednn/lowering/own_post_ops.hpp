// The post-ops that the plugin's own kernels compute on their results before they are stored.
#pragma once

#include <array>
#include <vector>

#include "lowering/lowering.hpp"
#include "lowering/vectors.hpp"

namespace onednn {

// A function of an output and its place.
struct OwnPostOp {
  enum class Kind { kRelu, kClip, kGelu, kAdd };
  Kind kind = Kind::kRelu;
  float alpha = 0, beta = 0;     // kRelu: the slope of negatives; kClip: the limits
  const float* added = nullptr;  // kAdd: a tensor in the layout of the result
};

// Applied in order.
struct OwnPostOps {
  static constexpr size_t kMost = 4;
  std::array<OwnPostOp, kMost> all;
  size_t count = 0;
};

// The first post-ops of an operation, as many as can be computed here; `slots` gets the operands of the additions, in
// the layout of the result.
OwnPostOps FirstOwnPostOps(const Operation& operation, const memory::desc& layout, Lowering& lowering,
                           std::vector<Slot>& slots);
// The same with the operands' memory: additions read the buffers from `next` on, which is advanced.
OwnPostOps WithOperands(OwnPostOps post_ops, const std::vector<char*>& buffers, size_t& next);

#if defined(__x86_64__)
// erf as x * P(x^2) / Q(x^2), fitted to |x| <= 3.925 with the least relative error (2e-8); beyond it is 1. Within 6
// units in the last place; NaN stays NaN.
ONEDNN_INLINE Floats ErfOf(Floats x) {
  constexpr float kOne = 3.925f;
  x = x > kOne ? kOne - Floats{} : x;
  x = x < -kOne ? -kOne - Floats{} : x;
  const Floats z = x * x;
  Floats p = z * 2.04599426e-6f + 0.000284825709f;
  p = p * z + 0.00377210945f;
  p = p * z + 0.0527679056f;
  p = p * z + 0.190584621f;
  p = p * z + 1.12837915f;
  Floats q = z * 3.80464972e-5f + 0.00116373625f;
  q = q * z + 0.0149823191f;
  q = q * z + 0.11417878f;
  q = q * z + 0.502233956f;
  q = q * z + 1;
  const Floats y = x * p / q;
  const Floats low = y > 1 ? 1 - Floats{} : y;
  return low < -1 ? -1 - Floats{} : low;
}

// `value` is `at` elements behind the result's first.
ONEDNN_INLINE Floats Apply(const OwnPostOps& post_ops, Floats value, int64_t at) {
  const OwnPostOp& first = post_ops.all[0];
  if (post_ops.count == 1 && first.kind == OwnPostOp::Kind::kRelu && first.alpha == 0)
    return value < 0 ? Floats{} : value;  // by far the most frequent
  for (size_t i = 0; i < post_ops.count; ++i) {
    const OwnPostOp& post_op = post_ops.all[i];
    const Floats alpha = post_op.alpha - Floats{}, beta = post_op.beta - Floats{};
    switch (post_op.kind) {
      case OwnPostOp::Kind::kRelu: value = value < 0 ? value * alpha : value; break;
      case OwnPostOp::Kind::kAdd: value += Load(post_op.added + at); break;
      case OwnPostOp::Kind::kGelu: value = 0.5f * value * (1 + ErfOf(value * 0.707106781f)); break;
      case OwnPostOp::Kind::kClip:
        value = value < alpha ? alpha : value;
        value = value > beta ? beta : value;
        break;
    }
  }
  return value;
}
#endif

}  // namespace onednn
