#include "kernels/attention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/linalg/linalg.hpp"
#include "kernels/slots.hpp"
#include "kernels/unary_float.hpp"

namespace deputy::host {
namespace {

constexpr int64_t kTile = 64;  // queries in work at once

int64_t TilesOf(const AttentionShape& shape) { return (shape.queries + kTile - 1) / kTile; }

template <class T>
constexpr T kNever = -std::numeric_limits<T>::infinity();

// What is added to the score of one key.
template <class T>
T BiasAt(const AttentionArgs<T>& args, int64_t row_offset, int64_t query, int64_t key) {
  T bias = 0;
  if (args.mask.data != nullptr) {
    const int64_t at = row_offset + key * args.mask.steps[3];
    if (key >= args.mask.keys) {
      bias = kNever<T>;
    } else if (args.mask.is_bool) {
      bias = static_cast<const uint8_t*>(args.mask.data)[at] != 0 ? T(0) : kNever<T>;
    } else {
      bias = static_cast<const T*>(args.mask.data)[at];
    }
  }
  return args.causal && key > query + args.shape.past ? kNever<T> : bias;
}

// Turns the scores of one query into probabilities; `kept`, if not null, gets what was asked for.
template <class T>
void Weigh(const AttentionArgs<T>& args, int64_t row_offset, int64_t query, T* scores, T* kept) {
  const int64_t keys = args.shape.keys;
  const auto keep = [&](AttentionScores stage) {
    if (kept != nullptr && args.which == stage) std::copy_n(scores, keys, kept);
  };
  keep(AttentionScores::kPlain);
  if (args.cap > 0) {
    const T cap = static_cast<T>(args.cap);
    for (int64_t i = 0; i < keys; ++i) scores[i] = cap * TanhOf(scores[i] / cap);
  }
  keep(AttentionScores::kCapped);
  bool seen = false;
  if (args.mask.data == nullptr && !args.causal) {
    seen = keys > 0;
  } else {
    for (int64_t i = 0; i < keys; ++i) {
      const T bias = BiasAt(args, row_offset, query, i);
      scores[i] += bias;
      seen = seen || bias != kNever<T>;
    }
  }
  keep(AttentionScores::kMasked);
  if (!seen) {
    std::fill_n(scores, keys, T(0));
  } else {
    const T largest = *std::max_element(scores, scores + keys);
    const T base = largest == kNever<T> ? T(0) : largest;
    T sum = 0;
    for (int64_t i = 0; i < keys; ++i) scores[i] = ExpOf(scores[i] - base);
    for (int64_t i = 0; i < keys; ++i) sum += scores[i];
    const T share = sum == 0 ? T(1) : T(1) / sum;
    for (int64_t i = 0; i < keys; ++i) scores[i] *= share;
  }
  keep(AttentionScores::kProbabilities);
}

template <class T>
void AttendTile(const AttentionArgs<T>& args, int64_t batch, int64_t head, int64_t first, int64_t count, T* scores) {
  const AttentionShape& shape = args.shape;
  const int64_t key_head = head / (shape.heads / shape.key_heads);
  linalg::GemmArgs<T> products;
  products.m = count;
  products.n = products.ldc = shape.keys;
  products.k = shape.size;
  products.a = args.query.At(batch, head) + first * args.query.row_step;
  products.lda = args.query.row_step;
  products.b = args.key.At(batch, key_head);
  products.ldb = args.key.row_step;
  products.transpose_b = true;
  products.c = scores;
  products.alpha = static_cast<T>(args.scale);
  linalg::Gemm(products);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t query = first + i;
    const int64_t offset = batch * args.mask.steps[0] + head * args.mask.steps[1] + query * args.mask.steps[2];
    T* const kept = args.scores == nullptr
                        ? nullptr
                        : args.scores + ((batch * shape.heads + head) * shape.queries + query) * shape.keys;
    Weigh(args, offset, query, scores + i * shape.keys, kept);
  }
  linalg::GemmArgs<T> sums;
  sums.m = count;
  sums.n = shape.value_size;
  sums.k = sums.lda = shape.keys;
  sums.a = scores;
  sums.b = args.value.At(batch, key_head);
  sums.ldb = args.value.row_step;
  sums.c = args.target.At(batch, head) + first * args.target.row_step;
  sums.ldc = args.target.row_step;
  linalg::Gemm(sums);
}

}  // namespace

size_t AttentionMemory(const AttentionShape& shape, size_t element_bytes, const ThreadPool& pool) {
  const int64_t items = shape.batch * shape.heads * TilesOf(shape);
  return static_cast<size_t>(SlotCount(pool, items) * kTile * shape.keys) * element_bytes;
}

template <class T>
void Attend(const AttentionArgs<T>& args, void* memory, ThreadPool& pool) {
  const AttentionShape& shape = args.shape;
  const int64_t tiles = TilesOf(shape);
  ForEachInSlots(pool, shape.batch * shape.heads * tiles, [&](int64_t item, int64_t slot) {
    const int64_t first = item % tiles * kTile, head = item / tiles % shape.heads;
    AttendTile(args, item / tiles / shape.heads, head, first, std::min(kTile, shape.queries - first),
               static_cast<T*>(memory) + slot * kTile * shape.keys);
  });
}

template void Attend<float>(const AttentionArgs<float>&, void*, ThreadPool&);
template void Attend<double>(const AttentionArgs<double>&, void*, ThreadPool&);

}  // namespace deputy::host
