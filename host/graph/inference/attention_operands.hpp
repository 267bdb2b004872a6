// Checks of the operands of attention and of rotary embeddings that inference does not need for the outputs.
#pragma once

#include <cstdint>

#include "graph/inference.hpp"

namespace deputy::host {

// The extents of an operand as [batch, heads, rows, size], from this form or from [batch, rows, heads * size].
struct HeadExtents {
  int64_t batch, heads, rows, size;
};

Status CheckAttentionOperands(const InferenceContext& context, const HeadExtents& queries, const HeadExtents& keys,
                              const HeadExtents& values);
Status CheckRotaryOperands(const InferenceContext& context);

// Of com.microsoft. `size` is that of one head of queries and keys, `value_size` that of values.
Status CheckMicrosoftAttentionOperands(const InferenceContext& context, int64_t heads);
Status CheckMultiHeadOperands(const InferenceContext& context, int64_t heads, int64_t size, int64_t value_size);
Status CheckGroupQueryOperands(const InferenceContext& context, int64_t heads, int64_t key_heads, int64_t size);
Status CheckMicrosoftRotaryOperands(const InferenceContext& context);

}  // namespace deputy::host
