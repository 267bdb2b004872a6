// Attention and RotaryEmbedding, computed head by head and query by query, and the operators with a state.
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
// number. `before`: the keys in front of the first query's own.
double Bias(const Node& node, const Tensor* mask, const Dims& at, int64_t before) {
  const int64_t ahead = at[3] - (at[2] + before);  // of the query's own key
  const int64_t left = node.Int("left_window_size", -1), right = node.Int("right_window_size", -1);
  if (node.Int("is_causal", 0) != 0 && ahead > 0) return -kInfinite;
  if ((left >= 0 && ahead < -left) || (right >= 0 && ahead > right)) return -kInfinite;
  if (mask == nullptr) return 0;
  // A mask of one key is broadcast before definition 24; since then it is padded like every shorter one.
  if ((mask->dims.back() != 1 || node.since_version >= 24) && at[3] >= mask->dims.back()) return -kInfinite;
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
    const int64_t valid = At(in, 6) == nullptr ? keys : static_cast<int64_t>(in[6]->Get(at[0]));
    const int64_t before = At(in, 6) == nullptr ? past : valid - queries;
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
      score += key >= valid ? -kInfinite : Bias(node, At(in, 3), {at[0], at[1], at[2], key}, before);
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

// The recurrence of the definition, token by token; states are [batch, heads, size, value size].
std::vector<Tensor> LinearAttention(const Node& node, const Inputs& in) {
  const int64_t heads = node.Int("q_num_heads", 0), key_heads = node.Int("kv_num_heads", 0);
  const int64_t batch = in[0]->dims[0], tokens = in[0]->dims[1], size = in[0]->dims[2] / heads;
  const int64_t value_size = in[2]->dims[2] / key_heads;
  const Tensor *past = At(in, 3), *decay = At(in, 4), *beta = At(in, 5);
  const double given = node.Float("scale", 0), scale = given != 0 ? given : 1 / std::sqrt(static_cast<double>(size));
  const Dims dims = {batch, key_heads, size, value_size};
  Tensor y(in[0]->dtype, {batch, tokens, heads * value_size});
  Tensor state = past == nullptr ? Tensor(DEPUTY_DTYPE_FLOAT64, dims) : Wide(*past);
  // Element `i` of the part of `head` in a list of `parts` parts of one token.
  const auto part = [&](const Tensor& list, const Dims& at, int64_t parts, int64_t head, int64_t i) {
    return list.Get(Flat(list.dims, {at[0], at[1], head * (list.dims[2] / parts) + i}));
  };
  for (int64_t item = 0; item < batch * tokens; ++item) {
    const Dims at = IndexOf({batch, tokens}, item);
    for (int64_t head = 0; head < key_heads; ++head) {
      const auto cell = [&](int64_t i, int64_t j) { return Flat(dims, {at[0], head, i, j}); };
      if (decay != nullptr)
        for (int64_t i = 0; i < size; ++i)
          for (int64_t j = 0; j < value_size; ++j) {
            const double power = part(*decay, at, key_heads, head, decay->dims[2] == key_heads ? 0 : i);
            state.Put(cell(i, j), state.Get(cell(i, j)) * std::exp(power));
          }
      for (int64_t j = 0; j < value_size; ++j) {
        double added = part(*in[2], at, key_heads, head, j);
        if (beta != nullptr) {
          for (int64_t i = 0; i < size; ++i) added -= state.Get(cell(i, j)) * part(*in[1], at, key_heads, head, i);
          added *= beta->dims[2] == 1 ? part(*beta, at, 1, 0, 0) : part(*beta, at, key_heads, head, 0);
        }
        for (int64_t i = 0; i < size; ++i)
          state.Put(cell(i, j), state.Get(cell(i, j)) + part(*in[1], at, key_heads, head, i) * added);
      }
      const int64_t group = heads / key_heads;
      for (int64_t reader = head * group; reader < (head + 1) * group; ++reader)
        for (int64_t j = 0; j < value_size; ++j) {
          double sum = 0;
          for (int64_t i = 0; i < size; ++i) sum += part(*in[0], at, heads, reader, i) * state.Get(cell(i, j));
          y.Put(Flat(y.dims, {at[0], at[1], reader * value_size + j}), scale * sum);
        }
    }
  }
  std::vector<Tensor> outputs = {y, InType(state, past == nullptr ? in[0]->dtype : past->dtype)};
  outputs.resize(std::min(node.output_count, outputs.size()));
  return outputs;
}

// The past elements, or zeros, then the input; each channel is convolved alone.
std::vector<Tensor> CausalConvWithState(const Node& node, const Inputs& in) {
  const Tensor &x = *in[0], &weight = *in[1];
  const int64_t kernel = weight.dims[2], before = kernel - 1;
  const Tensor *bias = At(in, 2), *past = At(in, 3);
  const auto element = [&](const Dims& at, int64_t position) {
    if (position >= before) return x.Get(Flat(x.dims, {at[0], at[1], position - before}));
    return past == nullptr ? 0.0 : past->Get(Flat(past->dims, {at[0], at[1], position}));
  };
  const bool silu = node.String("activation", "none") != "none";
  const Tensor y = Filled(x.dtype, x.dims, [&](const Dims& at) {
    double sum = bias == nullptr ? 0 : bias->Get(at[1]);
    for (int64_t tap = 0; tap < kernel; ++tap) sum += weight.Get(at[1] * kernel + tap) * element(at, at[2] + tap);
    return silu ? sum / (1 + std::exp(-sum)) : sum;
  });
  const Tensor state =
      Filled(x.dtype, {x.dims[0], x.dims[1], before}, [&](const Dims& at) { return element(at, x.dims[2] + at[2]); });
  std::vector<Tensor> outputs = {y, state};
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

KernelRows AttentionKernels() {
  return {{"Attention", Attention},
          {"CausalConvWithState", CausalConvWithState},
          {"LinearAttention", LinearAttention},
          {"RotaryEmbedding", RotaryEmbedding}};
}

}  // namespace deputy::conformance::reference
