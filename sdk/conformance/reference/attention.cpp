// Attention and RotaryEmbedding, computed head by head and query by query.
#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/compose.hpp"

namespace deputy::conformance::reference {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

// [batch, length, heads * size] as [batch, heads, length, size].
Tensor WithHeads(const Tensor& x, int64_t heads) {
  if (x.rank() == 4) return x;
  const int64_t length = x.dims[1], size = x.dims[2] / heads;
  return Filled(x.dtype, {x.dims[0], heads, length, size},
                [&](const Dims& at) { return x.Get(((at[0] * length + at[2]) * heads + at[1]) * size + at[3]); });
}

// Past elements, then new ones, along the lengths.
Tensor Appended(const Tensor* past, const Tensor& fresh) {
  if (past == nullptr) return fresh;
  return Apply("Concat", {*past, fresh}, {{"axis", Attribute::Int(2)}});
}

// The summand of the score of a query and a key: 0 where the query sees the key, -infinity where not, or the mask's
// number.
double Bias(const Node& node, const Tensor* mask, const Dims& at, int64_t past) {
  if (node.Int("is_causal", 0) != 0 && at[3] > at[2] + past) return -kInfinite;
  if (mask == nullptr) return 0;
  if (mask->dims.back() != 1 && at[3] >= mask->dims.back()) return -kInfinite;
  const double value = mask->Get(BroadcastFlat(mask->dims, at));
  return mask->dtype == DEPUTY_DTYPE_BOOL ? (value != 0 ? 0 : -kInfinite) : value;
}

std::vector<Tensor> Attention(const Node& node, const Inputs& in) {
  const bool flat = in[0]->rank() == 3;
  const Tensor q = WithHeads(*in[0], node.Int("q_num_heads", 0));
  const Tensor k = Appended(At(in, 4), WithHeads(*in[1], node.Int("kv_num_heads", 0)));
  const Tensor v = Appended(At(in, 5), WithHeads(*in[2], node.Int("kv_num_heads", 0)));
  const int64_t past = At(in, 4) == nullptr ? 0 : in[4]->dims[2];
  const int64_t batch = q.dims[0], heads = q.dims[1], queries = q.dims[2], size = q.dims[3], keys = k.dims[2];
  const int64_t shared = heads / k.dims[1];  // heads of queries per head of keys
  const double given = node.Float("scale", 0), cap = node.Float("softcap", 0);
  const double scale = node.Has("scale") && given != 0 ? given : 1 / std::sqrt(static_cast<double>(size));
  const int64_t mode = node.Int("qk_matmul_output_mode", 0);
  Tensor y(q.dtype, {batch, heads, queries, v.dims[3]}), shown(q.dtype, {batch, heads, queries, keys});
  for (int64_t row = 0; row < batch * heads * queries; ++row) {
    const Dims at = IndexOf({batch, heads, queries}, row);
    std::vector<double> scores;
    double largest = -kInfinite, sum = 0;
    for (int64_t key = 0; key < keys; ++key) {
      double score = 0;
      for (int64_t i = 0; i < size; ++i)
        score += q.Get(row * size + i) * k.Get(Flat(k.dims, {at[0], at[1] / shared, key, i}));
      score *= scale;
      if (mode == 0) shown.Put(row * keys + key, score);
      if (cap > 0) score = cap * std::tanh(score / cap);
      if (mode == 1) shown.Put(row * keys + key, score);
      score += Bias(node, At(in, 3), {at[0], at[1], at[2], key}, past);
      if (mode == 2) shown.Put(row * keys + key, score);
      scores.push_back(score);
      largest = std::max(largest, score);
    }
    // A query that sees no key gets zeros.
    for (double& score : scores) sum += score = largest == -kInfinite ? 0 : std::exp(score - largest);
    for (size_t key = 0; key < scores.size(); ++key) {
      if (sum != 0) scores[key] /= sum;
      if (mode == 3) shown.Put(row * keys + static_cast<int64_t>(key), scores[key]);
    }
    for (int64_t i = 0; i < v.dims[3]; ++i) {
      double value = 0;
      for (int64_t key = 0; key < keys; ++key)
        value += scores[static_cast<size_t>(key)] * v.Get(Flat(v.dims, {at[0], at[1] / shared, key, i}));
      y.Put(row * v.dims[3] + i, value);
    }
  }
  std::vector<Tensor> outputs = {flat ? Merged(y, y.dtype) : y, k, v, shown};
  outputs.resize(std::min(node.output_count, outputs.size()));
  return outputs;
}

// Pairs of elements are rotated by an angle of their position: (a, b) becomes (a cos - b sin, a sin + b cos).
std::vector<Tensor> RotaryEmbedding(const Node& node, const Inputs& in) {
  const bool flat = in[0]->rank() == 3;
  const Tensor x = WithHeads(*in[0], node.Int("num_heads", 0));
  const Tensor *cosines = in[1], *sines = in[2], *positions = At(in, 3);
  const int64_t given = node.Int("rotary_embedding_dim", 0), turned = given == 0 ? x.dims[3] : given;
  const bool interleaved = node.Int("interleaved", 0) != 0;
  Tensor y = x;
  for (int64_t row = 0; row < x.dims[0] * x.dims[1] * x.dims[2]; ++row) {
    const Dims at = IndexOf({x.dims[0], x.dims[1], x.dims[2]}, row);
    const int64_t place = at[0] * x.dims[2] + at[2];
    const int64_t angles = positions == nullptr ? place : static_cast<int64_t>(positions->Get(place));
    for (int64_t i = 0; i < turned / 2; ++i) {
      const int64_t a = row * x.dims[3] + (interleaved ? 2 * i : i);
      const int64_t b = row * x.dims[3] + (interleaved ? 2 * i + 1 : i + turned / 2);
      const double cosine = cosines->Get(angles * (turned / 2) + i), sine = sines->Get(angles * (turned / 2) + i);
      y.Put(a, x.Get(a) * cosine - x.Get(b) * sine);
      y.Put(b, x.Get(a) * sine + x.Get(b) * cosine);
    }
  }
  return {flat ? Merged(y, y.dtype) : y};
}

}  // namespace

KernelRows AttentionKernels() { return {{"Attention", Attention}, {"RotaryEmbedding", RotaryEmbedding}}; }

}  // namespace deputy::conformance::reference
