// The masks of com.microsoft's attention: lengths, begins or flags of keys are converted to summands of the scores.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cpu/kernel.hpp"
#include "kernels/attention.hpp"
#include "kernels/parts.hpp"
#include "tensor/shape.hpp"

namespace deputy::host {

enum class MaskKind : uint8_t { kNothing, kLengths, kLengthsAndStarts, kKeys, kPairs };

// The kind of a mask of int32: lengths [batch] or [3 * batch + 2], ends and starts [2 * batch], flags [batch, keys],
// [batch, 1], [1, 1] or [batch, queries, keys].
inline Result<MaskKind> KindOfMask(const ConstView& mask, const AttentionShape& shape) {
  if (!mask.present()) return MaskKind::kNothing;
  if (mask.dtype() != DType::kInt32)
    return Error(StatusCode::kInvalidArgument, "mask has dtype {}, expected int32", NameOf(mask.dtype()));
  if (mask.rank() == 4)
    return Error(StatusCode::kNotSupported, "mask {} of rank 4 is not supported", ShapeToString(mask.dims()));
  if (mask.rank() == 1) {
    if (mask.dim(0) == shape.batch || mask.dim(0) == 3 * shape.batch + 2) return MaskKind::kLengths;
    if (mask.dim(0) == 2 * shape.batch) return MaskKind::kLengthsAndStarts;
  }
  // One flag for all keys changes all scores equally.
  if (mask.rank() == 2 && mask.dim(1) == 1 && (mask.dim(0) == shape.batch || mask.dim(0) == 1))
    return MaskKind::kNothing;
  if (mask.rank() == 2 && mask.dim(0) == shape.batch && mask.dim(1) == shape.keys) return MaskKind::kKeys;
  if (mask.rank() == 3 && mask.dim(0) == shape.batch && mask.dim(1) == shape.queries && mask.dim(2) == shape.keys)
    return MaskKind::kPairs;
  return Error(StatusCode::kInvalidArgument, "mask of shape {} does not match {} queries and {} keys",
               ShapeToString(mask.dims()), shape.queries, shape.keys);
}

// The summand of the scores: a mask, a bias, or the sum of both in separate memory.
template <class T>
class ScoreBias {
 public:
  // The bias is [batch or 1, heads or 1, queries, keys].
  Status Plan(const ConstView& mask, const ConstView& bias, const AttentionShape& shape) {
    DEPUTY_ASSIGN_OR_RETURN(kind_, KindOfMask(mask, shape));
    if (bias.present()) {
      const int64_t wanted[4] = {shape.batch, shape.heads, shape.queries, shape.keys};
      bool fits = bias.rank() == 4;
      for (size_t i = 0; fits && i < 4; ++i) fits = bias.dim(i) == wanted[i] || (i < 2 && bias.dim(i) == 1);
      if (!fits)
        return Error(StatusCode::kInvalidArgument, "attention_bias of shape {} does not broadcast to {}",
                     ShapeToString(bias.dims()), ShapeToString(wanted));
    }
    queries_ = bias.present() || kind_ == MaskKind::kPairs ? shape.queries : 1;
    heads_ = bias.present() ? bias.dim(1) : 1;
    batch_ = kind_ != MaskKind::kNothing ? shape.batch : bias.present() ? bias.dim(0) : 1;
    return {};
  }

  // Elements of memory that Fill needs.
  int64_t count(const AttentionShape& shape) const {
    return kind_ == MaskKind::kNothing ? 0 : batch_ * heads_ * queries_ * shape.keys;
  }

  AttentionMask Fill(const ConstView& mask, const ConstView& bias, const AttentionShape& shape, T filter,
                     T* memory) const {
    AttentionMask made;
    if (kind_ == MaskKind::kNothing && !bias.present()) return made;
    made.data = kind_ == MaskKind::kNothing ? bias.data<T>() : memory;
    made.keys = shape.keys;
    const int64_t matrix = queries_ * shape.keys;
    made.steps = {batch_ == 1 ? 0 : heads_ * matrix, heads_ == 1 ? 0 : matrix, queries_ == 1 ? 0 : shape.keys, 1};
    if (kind_ == MaskKind::kNothing) return made;
    ForEachUntilEnd(0, batch_ * heads_ * queries_, StepsOf(shape.keys, 8), [&](int64_t row) {
      const int64_t query = row % queries_, head = row / queries_ % heads_, batch = row / queries_ / heads_;
      T* const to = memory + row * shape.keys;
      const T* const from =
          bias.present()
              ? bias.data<T>() + (((bias.dim(0) == 1 ? 0 : batch) * heads_ + head) * queries_ + query) * shape.keys
              : nullptr;
      for (int64_t key = 0; key < shape.keys; ++key)
        to[key] = (from == nullptr ? T(0) : from[key]) + (Sees(mask, shape, batch, query, key) ? T(0) : filter);
    });
    return made;
  }

 private:
  bool Sees(const ConstView& mask, const AttentionShape& shape, int64_t batch, int64_t query, int64_t key) const {
    const int32_t* values = mask.data<int32_t>();
    switch (kind_) {
      case MaskKind::kLengths: return key < values[batch];
      case MaskKind::kLengthsAndStarts:
        return key < values[batch] && key >= std::min<int64_t>(values[shape.batch + batch], shape.keys);
      case MaskKind::kKeys: return values[batch * shape.keys + key] > 0;
      case MaskKind::kPairs: return values[(batch * shape.queries + query) * shape.keys + key] > 0;
      case MaskKind::kNothing: break;
    }
    return true;
  }

  MaskKind kind_ = MaskKind::kNothing;
  int64_t batch_ = 1, heads_ = 1, queries_ = 1;
};

}  // namespace deputy::host
