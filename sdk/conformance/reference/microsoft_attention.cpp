// The attention operators of com.microsoft: Attention, MultiHeadAttention, GroupQueryAttention, RotaryEmbedding; query
// by query, with everything as [batch, heads, rows, size].
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "reference/compose.hpp"

namespace deputy::conformance::reference {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

// Columns [first, first + heads * size) of [batch, rows, columns] as heads; NULL bias for none.
Tensor Heads(const Tensor& x, int64_t first, int64_t heads, int64_t size, const Tensor* bias, int64_t bias_first) {
  return Filled(DEPUTY_DTYPE_FLOAT64, {x.dims[0], heads, x.dims[1], size}, [&](const Dims& at) {
    const int64_t column = at[1] * size + at[3];
    return x.Get(Flat(x.dims, {at[0], at[2], first + column})) + (bias == nullptr ? 0 : bias->Get(bias_first + column));
  });
}

// Part `part` of [batch, rows, heads, parts, size].
Tensor Part(const Tensor& x, int64_t part, const Tensor* bias, int64_t bias_first) {
  return Filled(DEPUTY_DTYPE_FLOAT64, {x.dims[0], x.dims[2], x.dims[1], x.dims[4]}, [&](const Dims& at) {
    return x.Get(Flat(x.dims, {at[0], at[2], at[1], part, at[3]})) +
           (bias == nullptr ? 0 : bias->Get(bias_first + at[1] * x.dims[4] + at[3]));
  });
}

// Past rows, then new ones.
Tensor Joined(const Tensor* past, int64_t past_rows, const Tensor& fresh) {
  Dims dims = fresh.dims;
  dims[2] += past_rows;
  return Filled(DEPUTY_DTYPE_FLOAT64, dims, [&](const Dims& at) {
    if (at[2] < past_rows) return past->Get(Flat(past->dims, at));
    return fresh.Get(Flat(fresh.dims, {at[0], at[1], at[2] - past_rows, at[3]}));
  });
}

struct How {
  double scale = 0, cap = 0;                           // zero: the default, none
  std::function<double(const Dims&)> bias;             // of [batch, head, query, key]; -infinity hides the key
  std::function<int64_t(int64_t batch)> keys;          // the number of all keys
  std::function<double(int64_t head)> sink = nullptr;  // the score of one more key without a value
};

Tensor Attend(const Tensor& q, const Tensor& k, const Tensor& v, const How& how) {
  const int64_t size = q.dims[3], shared = q.dims[1] / k.dims[1];
  const double scale = how.scale != 0 ? how.scale : 1 / std::sqrt(static_cast<double>(size));
  Tensor y(DEPUTY_DTYPE_FLOAT64, {q.dims[0], q.dims[1], q.dims[2], v.dims[3]});
  for (int64_t row = 0; row < q.dims[0] * q.dims[1] * q.dims[2]; ++row) {
    const Dims at = IndexOf({q.dims[0], q.dims[1], q.dims[2]}, row);
    const double sink = how.sink ? how.sink(at[1]) : -kInfinite;
    std::vector<double> scores;
    double largest = sink;
    for (int64_t key = 0; key < how.keys(at[0]); ++key) {
      double score = 0;
      for (int64_t i = 0; i < size; ++i)
        score += q.Get(row * size + i) * k.Get(Flat(k.dims, {at[0], at[1] / shared, key, i})) * scale;
      if (how.cap > 0) score = how.cap * std::tanh(score / how.cap);
      scores.push_back(score + how.bias({at[0], at[1], at[2], key}));
      largest = std::max(largest, scores.back());
    }
    double sum = std::exp(sink - largest);
    for (double& score : scores) sum += score = std::exp(score - largest);
    for (int64_t i = 0; i < v.dims[3]; ++i) {
      double value = 0;
      for (size_t key = 0; key < scores.size(); ++key)
        value += scores[key] / sum * v.Get(Flat(v.dims, {at[0], at[1] / shared, static_cast<int64_t>(key), i}));
      y.Put(row * v.dims[3] + i, value);
    }
  }
  return y;
}

// Whether a mask, lengths [B] or [3B + 2], ends and starts [2B], flags [B, T] or [B, S, T], lets a query see a key.
bool Sees(const Tensor& mask, int64_t batches, const Dims& at) {
  if (mask.rank() == 2) return mask.Get(Flat(mask.dims, {at[0], at[3]})) > 0;
  if (mask.rank() == 3) return mask.Get(Flat(mask.dims, {at[0], at[2], at[3]})) > 0;
  const bool starts = mask.dims[0] == 2 * batches;
  const auto key = static_cast<double>(at[3]);
  return key < mask.Get(at[0]) && (!starts || key >= mask.Get(batches + at[0]));
}

std::function<double(const Dims&)> BiasOf(const Node& node, const Tensor* mask, const Tensor* bias, int64_t batches,
                                          int64_t past) {
  const double filter = node.Float("mask_filter_value", -10000.0f);
  const bool causal = node.Int("unidirectional", 0) != 0;
  return [=](const Dims& at) {
    if (causal && at[3] > at[2] + past) return -kInfinite;
    return (bias == nullptr ? 0 : bias->Get(BroadcastFlat(bias->dims, at))) +
           (mask == nullptr || Sees(*mask, batches, at) ? 0 : filter);
  };
}

std::vector<Tensor> Attention(const Node& node, const Inputs& in) {
  const Tensor &x = *in[0], *past = At(in, 4);
  const int64_t heads = node.Int("num_heads", 1), columns = in[1]->dims[1];
  const std::vector<int64_t> hidden = node.Ints("qkv_hidden_sizes", {columns / 3, columns / 3, columns / 3});
  Tensor rows = Apply("MatMul", {Wide(x), Wide(*in[1])});
  if (At(in, 2) != nullptr) rows = Apply("Add", {rows, Wide(*in[2])});
  const Tensor q = Heads(rows, 0, heads, hidden[0] / heads, nullptr, 0);
  Tensor k = Heads(rows, hidden[0], heads, hidden[1] / heads, nullptr, 0);
  Tensor v = Heads(rows, hidden[0] + hidden[1], heads, hidden[2] / heads, nullptr, 0);
  const int64_t old = past == nullptr ? 0 : past->dims[3];
  if (past != nullptr) {
    Tensor halves[2];
    for (size_t half = 0; half < 2; ++half)
      halves[half] =
          Filled(DEPUTY_DTYPE_FLOAT64, {past->dims[1], past->dims[2], old, past->dims[4]}, [&](const Dims& at) {
            return past->Get(Flat(past->dims, {static_cast<int64_t>(half), at[0], at[1], at[2], at[3]}));
          });
    k = Joined(&halves[0], old, k);
    v = Joined(&halves[1], old, v);
  }
  const int64_t keys = k.dims[2];
  const How how{node.Float("scale", 0), 0, BiasOf(node, At(in, 3), At(in, 5), x.dims[0], old),
                [keys](int64_t) { return keys; }};
  std::vector<Tensor> outputs = {Merged(Attend(q, k, v, how), x.dtype)};
  if (node.output_count < 2) return outputs;
  outputs.push_back(Filled(x.dtype, {2, x.dims[0], heads, keys, k.dims[3]}, [&](const Dims& at) {
    return (at[0] == 0 ? k : v).Get(Flat(k.dims, {at[1], at[2], at[3], at[4]}));
  }));
  return outputs;
}

std::vector<Tensor> MultiHead(const Node& node, const Inputs& in) {
  const Tensor &x = *in[0], *keys = At(in, 1), *values = At(in, 2), *bias = At(in, 3), *past = At(in, 6);
  const int64_t heads = node.Int("num_heads", 1);
  const int64_t size = x.rank() == 5 ? x.dims[4] : x.dims[2] / heads, hidden = heads * size;
  const Tensor q = x.rank() == 5 ? Part(x, 0, bias, 0) : Heads(x, 0, heads, size, bias, 0);
  Tensor k, v;
  if (keys == nullptr) {
    k = Part(x, 1, bias, hidden);
    v = Part(x, 2, bias, 2 * hidden);
  } else if (values == nullptr) {
    k = Part(*keys, 0, bias, hidden);
    v = Part(*keys, 1, bias, 2 * hidden);
  } else if (keys->rank() == 4) {
    k = Wide(*keys);
    v = Wide(*values);
  } else {
    k = Heads(*keys, 0, heads, size, bias, hidden);
    v = Heads(*values, 0, heads, values->dims[2] / heads, bias, 2 * hidden);
  }
  const int64_t old = past == nullptr ? 0 : past->dims[2];
  if (past != nullptr) {
    k = Joined(past, old, k);
    v = Joined(At(in, 7), old, v);
  }
  const int64_t count = k.dims[2];
  const How how{node.Float("scale", 0), 0, BiasOf(node, At(in, 4), At(in, 5), x.dims[0], old),
                [count](int64_t) { return count; }};
  std::vector<Tensor> outputs = {Merged(Attend(q, k, v, how), x.dtype), InType(k, x.dtype), InType(v, x.dtype)};
  outputs.resize(std::min(node.output_count, outputs.size()));
  return outputs;
}

// The first elements of each row are rotated by the angle of its position; pairs are neighbours or half a rotated part
// apart.
Tensor Rotated(const Tensor& x, const Tensor& cosines, const Tensor& sines, bool interleaved,
               const std::function<int64_t(int64_t batch, int64_t row)>& position) {
  const int64_t half = cosines.dims[1];
  return Filled(DEPUTY_DTYPE_FLOAT64, x.dims, [&](const Dims& at) {
    const int64_t i = at[3];
    if (i >= 2 * half) return x.Get(Flat(x.dims, at));
    const int64_t pair = interleaved ? i / 2 : i % half, second = interleaved ? i % 2 : i / half;
    const auto element = [&](int64_t which) {
      return x.Get(Flat(x.dims, {at[0], at[1], at[2], interleaved ? 2 * pair + which : pair + which * half}));
    };
    const int64_t angle = position(at[0], at[2]) * half + pair;
    const double cosine = cosines.Get(angle), sine = sines.Get(angle);
    return second == 0 ? element(0) * cosine - element(1) * sine : element(0) * sine + element(1) * cosine;
  });
}

std::vector<Tensor> Rotary(const Node& node, const Inputs& in) {
  const Tensor &x = *in[0], &positions = *in[1], &cosines = *in[2];
  const int64_t given = node.Int("num_heads", 0);
  const bool flat = x.rank() == 3;
  const int64_t heads = !flat ? x.dims[1] : given > 0 ? given : x.dims[2] / (2 * cosines.dims[1]);
  const Tensor rows = flat ? Heads(x, 0, heads, x.dims[2] / heads, nullptr, 0) : Wide(x);
  const Tensor y = Rotated(rows, cosines, *in[3], node.Int("interleaved", 0) != 0, [&](int64_t batch, int64_t row) {
    return static_cast<int64_t>(positions.rank() == 1 ? positions.Get(0) + static_cast<double>(row)
                                                      : positions.Get(Flat(positions.dims, {batch, row})));
  });
  return {flat ? Merged(y, x.dtype) : InType(y, x.dtype)};
}

std::vector<Tensor> GroupQuery(const Node& node, const Inputs& in) {
  const Tensor &x = *in[0], *past_key = At(in, 3), *past_value = At(in, 4), *bias = At(in, 10), *sinks = At(in, 11);
  const int64_t heads = node.Int("num_heads", 1), key_heads = node.Int("kv_num_heads", 1), fresh = x.dims[1];
  const auto longest = static_cast<int64_t>(in[6]->Get(0));
  const int64_t window = node.Int("local_window_size", -1);
  const bool prompt = longest == fresh, packed = At(in, 1) == nullptr, causal = node.Int("causal", 1) != 0;
  const int64_t size = x.dims[2] / (packed ? heads + 2 * key_heads : heads);
  Tensor q = Heads(x, 0, heads, size, nullptr, 0);
  Tensor k =
      packed ? Heads(x, heads * size, key_heads, size, nullptr, 0) : Heads(*in[1], 0, key_heads, size, nullptr, 0);
  const Tensor v = packed ? Heads(x, (heads + key_heads) * size, key_heads, size, nullptr, 0)
                          : Heads(*in[2], 0, key_heads, size, nullptr, 0);
  const auto length = [&](int64_t batch) { return static_cast<int64_t>(in[5]->Get(batch)) + 1; };
  const auto old = [&](int64_t batch) { return prompt ? 0 : length(batch) - fresh; };
  if (node.Int("do_rotary", 0) != 0) {
    const auto position = [&](int64_t batch, int64_t row) {
      const Tensor* given = At(in, 9);
      if (given == nullptr) return old(batch) + row;
      return static_cast<int64_t>(prompt ? given->Get(0) + static_cast<double>(row)
                                         : given->Get(Flat(given->dims, {batch, row})));
    };
    const bool interleaved = node.Int("rotary_interleaved", 0) != 0;
    q = Rotated(q, *in[7], *in[8], interleaved, position);
    k = Rotated(k, *in[7], *in[8], interleaved, position);
  }
  // Past rows, new ones where the past of this sequence ends, zeros behind them.
  const int64_t room = past_key == nullptr ? 0 : past_key->dims[2];
  const auto kept = [&](const Tensor* past, const Tensor& rows) {
    return Filled(DEPUTY_DTYPE_FLOAT64, {x.dims[0], key_heads, std::max(room, longest), size}, [&](const Dims& at) {
      const int64_t row = at[2] - old(at[0]);
      if (row < 0) return past->Get(Flat(past->dims, at));
      return row < fresh ? rows.Get(Flat(rows.dims, {at[0], at[1], row, at[3]})) : 0;
    });
  };
  k = kept(past_key, k);
  const Tensor all_values = kept(past_value, v);
  How how{node.Float("scale", 0), node.Float("softcap", 0),
          [&](const Dims& at) {
            const int64_t own = at[2] + old(at[0]);
            if (causal && (at[3] > own || (window >= 0 && at[3] + window <= own))) return -kInfinite;
            return bias == nullptr ? 0 : bias->Get(BroadcastFlat(bias->dims, at));
          },
          length};
  if (sinks != nullptr) how.sink = [&](int64_t head) { return sinks->Get(head); };
  if (sinks == nullptr && node.Int("smooth_softmax", -1) == 1) how.sink = [](int64_t) { return 0.0; };
  std::vector<Tensor> outputs = {Merged(Attend(q, k, all_values, how), x.dtype), InType(k, x.dtype),
                                 InType(all_values, x.dtype)};
  outputs.resize(std::min(node.output_count, outputs.size()));
  return outputs;
}

}  // namespace

KernelRows MicrosoftAttentionKernels() {
  return {{"Microsoft_Attention", Attention},
          {"Microsoft_GroupQueryAttention", GroupQuery},
          {"Microsoft_MultiHeadAttention", MultiHead},
          {"Microsoft_RotaryEmbedding", Rotary}};
}

}  // namespace deputy::conformance::reference
