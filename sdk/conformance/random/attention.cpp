// Attention and RotaryEmbedding: layouts, groups of heads, masks of each rank, past keys and values, visibility; the
// operators with a state.
#include <algorithm>

#include "random/families.hpp"

namespace deputy::conformance {
namespace {

void WriteAttention(Draft& d) {
  const deputy_dtype dtype = d.Type();
  const int64_t batch = d.Between(1, 2), kv_heads = d.Between(1, 3), q_heads = kv_heads * d.Between(1, 3);
  const int64_t queries = d.Between(1, 5), keys = d.Between(1, 5), head = d.Between(1, 6), value = d.Between(1, 6);
  const bool flat = d.Once(3), before = d.Once(3), padded = !before && d.since() >= 24 && d.Half();
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
  } else if (before || padded) {
    d.None();
  }
  if (padded) d.None().None().In(d.Ties(kI64, {batch}, 0, keys));
  if (before)
    d.In(d.Values(dtype, {batch, kv_heads, past, head}, -1, 1)).In(d.Values(dtype, {batch, kv_heads, past, value}));
  d.Maybe("is_causal", Int(d.Between(0, 1))).Maybe("scale", Number(d, 0.25, 1)).Maybe("softmax_precision", Int(kF32));
  if (d.Once(3)) d.Set("softcap", Number(d, 0.5, 2));
  d.Maybe("left_window_size", Int(d.Between(-1, 4))).Maybe("right_window_size", Int(d.Between(-1, 4)));
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

void WriteLinearAttention(Draft& d) {
  const deputy_dtype dtype = d.Type(), state = d.Half() ? dtype : d.Type();
  const int64_t batch = d.Between(1, 2), tokens = d.Between(1, 4), key_heads = d.Between(1, 3);
  const int64_t heads = key_heads * d.Between(1, 2), size = d.Between(1, 4), values = d.Between(1, 4);
  const bool decays = d.Half(), subtracts = d.Half();
  d.In(d.Values(dtype, {batch, tokens, heads * size}, -1, 1));
  d.In(d.Values(dtype, {batch, tokens, key_heads * size}, -0.5, 0.5));
  d.In(d.Values(dtype, {batch, tokens, key_heads * values}, -1, 1));
  if (d.Half())
    d.In(d.Values(state, {batch, key_heads, size, values}, -1, 1));
  else if (decays || subtracts)
    d.None();
  if (decays)
    d.In(d.Values(dtype, {batch, tokens, d.Half() ? key_heads : key_heads * size}, -1, 0));
  else if (subtracts)
    d.None();
  if (subtracts) d.In(d.Values(dtype, {batch, tokens, d.Half() ? key_heads : 1}, 0, 1));
  d.Set("q_num_heads", Int(heads)).Set("kv_num_heads", Int(key_heads));
  d.Set("update_rule", Text(decays ? (subtracts ? "gated_delta" : "gated") : subtracts ? "delta" : "linear"));
  d.Maybe("scale", Number(d, 0.25, 1)).Maybe("chunk_size", Int(d.Between(1, 4)));
  d.Outputs(static_cast<size_t>(d.Between(1, 2)));
}

void WriteCausalConvWithState(Draft& d) {
  const deputy_dtype dtype = d.Type();
  const int64_t batch = d.Between(1, 2), channels = d.Between(1, 4), length = d.Between(1, 6), kernel = d.Between(1, 5);
  d.In(d.Values(dtype, {batch, channels, length})).In(d.Values(dtype, {channels, 1, kernel}));
  const bool past = d.Half();
  if (d.Half())
    d.In(d.Values(dtype, {channels}));
  else if (past)
    d.None();
  if (past) d.In(d.Values(dtype, {batch, channels, kernel - 1}));
  d.Maybe("activation", Text(d.Pick<const char*>({"silu", "swish", "none"})));
  d.Outputs(static_cast<size_t>(d.Between(1, 2)));
}

}  // namespace

DraftRows AttentionDrafts() {
  return {{"Attention", WriteAttention},
          {"CausalConvWithState", WriteCausalConvWithState},
          {"LinearAttention", WriteLinearAttention},
          {"RotaryEmbedding", WriteRotaryEmbedding}};
}

}  // namespace deputy::conformance
