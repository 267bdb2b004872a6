// Attention and RotaryEmbedding: layouts, groups of heads, masks of each rank, past keys and values, visibility.
#include <algorithm>

#include "random/families.hpp"

namespace deputy::conformance {
namespace {

void WriteAttention(Draft& d) {
  const deputy_dtype dtype = d.Type();
  const int64_t batch = d.Between(1, 2), kv_heads = d.Between(1, 3), q_heads = kv_heads * d.Between(1, 3);
  const int64_t queries = d.Between(1, 5), keys = d.Between(1, 5), head = d.Between(1, 6), value = d.Between(1, 6);
  const bool flat = d.Once(3), before = d.Once(3);
  const int64_t past = before ? d.Between(1, 4) : 0, all = keys + past;
  if (flat) {
    d.In(d.Values(dtype, {batch, queries, q_heads * head}, -1, 1))
        .In(d.Values(dtype, {batch, keys, kv_heads * head}, -1, 1));
    d.In(d.Values(dtype, {batch, keys, kv_heads * value}));
    d.Set("q_num_heads", Int(q_heads)).Set("kv_num_heads", Int(kv_heads));
  } else {
    d.In(d.Values(dtype, {batch, q_heads, queries, head}, -1, 1))
        .In(d.Values(dtype, {batch, kv_heads, keys, head}, -1, 1));
    d.In(d.Values(dtype, {batch, kv_heads, keys, value}));
  }
  const bool masked = d.Half();
  if (masked) {
    Dims mask = {queries, all};
    if (d.Half()) {
      mask.insert(mask.begin(), d.Half() ? 1 : q_heads);
      if (d.Half()) mask.insert(mask.begin(), d.Half() ? 1 : batch);
    }
    Tensor shown = d.Values(d.Once(3) ? kBool : dtype, mask);
    // Every query sees a key.
    if (shown.dtype == kBool)
      for (int64_t i = 0; i < shown.count(); i += all) shown.Put(i, int64_t{1});
    d.In(shown);
  } else if (before) {
    d.None();
  }
  if (before)
    d.In(d.Values(dtype, {batch, kv_heads, past, head}, -1, 1)).In(d.Values(dtype, {batch, kv_heads, past, value}));
  d.Maybe("is_causal", Int(d.Between(0, 1))).Maybe("scale", Number(d, 0.25, 1)).Maybe("softmax_precision", Int(kF32));
  if (d.Once(3)) d.Set("softcap", Number(d, 0.5, 2));
  if (before) {
    d.Outputs(d.Half() ? 3 : 1);
  } else if (d.Once(4)) {
    d.Set("qk_matmul_output_mode", Int(d.Between(0, 3)));
    d.Outputs(4);
  }
}

void WriteRotaryEmbedding(Draft& d) {
  const deputy_dtype dtype = d.Type();
  const int64_t batch = d.Between(1, 2), heads = d.Between(1, 3), length = d.Between(1, 4), half = d.Between(1, 4);
  const int64_t head = 2 * half, turned = d.Half() ? half : d.Between(1, half);
  const bool flat = d.Once(3), positions = d.Half();
  d.In(d.Values(dtype, flat ? Dims{batch, length, heads * head} : Dims{batch, heads, length, head}));
  const Dims angles = positions ? Dims{9, turned} : Dims{batch, length, turned};
  d.In(d.Values(dtype, angles, -1, 1)).In(d.Values(dtype, angles, -1, 1));
  if (positions) d.In(d.Indices(kI64, {batch, length}, 9, false));
  if (turned != half) d.Set("rotary_embedding_dim", Int(2 * turned));
  if (flat) d.Set("num_heads", Int(heads));
  d.Maybe("interleaved", Int(d.Between(0, 1)));
}

}  // namespace

DraftRows AttentionDrafts() { return {{"Attention", WriteAttention}, {"RotaryEmbedding", WriteRotaryEmbedding}}; }

}  // namespace deputy::conformance
