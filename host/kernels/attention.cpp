#include "kernels/attention.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <type_traits>

#include "base/aligned.hpp"
#include "kernels/linalg/linalg.hpp"
#include "kernels/linalg/rows.hpp"
#include "kernels/parts.hpp"
#include "kernels/slots.hpp"
#include "kernels/unary_float.hpp"

namespace deputy::host {
namespace {

constexpr int64_t kQueryTile = 64;  // queries processed at once

int64_t TilesOf(const AttentionShape& shape) { return (shape.queries + kQueryTile - 1) / kQueryTile; }

template <class T>
constexpr T kNever = -std::numeric_limits<T>::infinity();

// The two products of a tile, with the operands that determine their memory: queries by keys, and scores by values.
template <class T>
linalg::GemmArgs<T> ScoreProduct(const AttentionShape& shape, int64_t queries) {
  linalg::GemmArgs<T> product;
  product.m = queries;
  product.n = product.ldc = shape.keys;
  product.k = shape.size;
  product.transpose_b = true;
  return product;
}

template <class T>
linalg::GemmArgs<T> ValueProduct(const AttentionShape& shape, int64_t queries) {
  linalg::GemmArgs<T> product;
  product.m = queries;
  product.n = shape.value_size;
  product.k = product.lda = shape.keys;
  return product;
}

// Memory of one slot: the scores of a tile, then the workspace of its products.
template <class T>
struct TileMemory {
  size_t scores, products;

  explicit TileMemory(const AttentionShape& shape)
      : scores(AlignUp(static_cast<size_t>(kQueryTile * shape.keys) * sizeof(T))),
        products(AlignUp(std::max(linalg::GemmWorkspace(ScoreProduct<T>(shape, kQueryTile)),
                                  linalg::GemmWorkspace(ValueProduct<T>(shape, kQueryTile))))) {}

 private:
};

// The keys that one query may attend to, if the mask does not exclude them: from `first`, before `last`.
struct KeyRange {
  int64_t first, last;
};

template <class T>
KeyRange KeysOf(const AttentionArgs<T>& args, int64_t batch, int64_t query) {
  KeyRange range{0, args.shape.keys};
  int64_t own = query + args.shape.past;
  if (args.lengths != nullptr) {
    range.last = std::min(range.last, args.lengths[batch]);
    own = query + args.lengths[batch] - args.shape.queries;
  }
  if (args.causal) range.last = std::min(range.last, own + 1);
  // Windows may be larger than all distances between keys.
  if (args.right >= 0 && args.right < args.shape.keys - own) range.last = std::min(range.last, own + args.right + 1);
  if (args.left >= 0 && args.left < own) range.first = own - args.left;
  return range;
}

// The mask's summand for the score of one key.
template <class T>
T BiasAt(const AttentionArgs<T>& args, int64_t row_offset, int64_t key) {
  if (args.mask.data == nullptr) return T(0);
  if (key >= args.mask.keys) return kNever<T>;
  const int64_t at = row_offset + key * args.mask.steps[3];
  if (args.mask.is_bool) return static_cast<const uint8_t*>(args.mask.data)[at] != 0 ? T(0) : kNever<T>;
  return static_cast<const T*>(args.mask.data)[at];
}

// False, with nothing done, for double and if every score is minus infinity.
template <class T>
bool SoftmaxByModule(T* scores, int64_t keys) {
  if constexpr (std::is_same_v<T, float>) {
    if (linalg::Largest(scores, keys) == kNever<T>) return false;
    linalg::Softmax(scores, keys, scores);
    return true;
  }
  return false;
}

// Turns the scores of one query into probabilities; `kept`, if not null, receives the requested scores.
template <class T>
void Weigh(const AttentionArgs<T>& args, int64_t row_offset, const KeyRange& range, const T* sink, T* scores, T* kept) {
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
  if (args.mask.data == nullptr && range.first <= 0 && range.last >= keys) {
    seen = keys > 0;
  } else {
    for (int64_t i = 0; i < keys; ++i) {
      const T bias = i < range.first || i >= range.last ? kNever<T> : BiasAt(args, row_offset, i);
      scores[i] += bias;
      seen = seen || bias != kNever<T>;
    }
  }
  keep(AttentionScores::kMasked);
  if (!seen) {
    std::fill_n(scores, keys, T(0));
  } else if (sink != nullptr || !SoftmaxByModule(scores, keys)) {
    T largest = *std::max_element(scores, scores + keys);
    if (sink != nullptr) largest = std::max(largest, *sink);
    const T base = largest == kNever<T> ? T(0) : largest;
    double sum = sink == nullptr ? 0 : static_cast<double>(ExpOf(*sink - base));
    for (int64_t i = 0; i < keys; ++i) scores[i] = ExpOf(scores[i] - base);
    for (int64_t i = 0; i < keys; ++i) sum += static_cast<double>(scores[i]);
    const T share = sum == 0 ? T(1) : static_cast<T>(1 / sum);
    for (int64_t i = 0; i < keys; ++i) scores[i] *= share;
  }
  keep(AttentionScores::kProbabilities);
}

template <class T>
void AttendTile(const AttentionArgs<T>& args, int64_t batch, int64_t head, int64_t first, int64_t count, T* scores,
                void* workspace) {
  const AttentionShape& shape = args.shape;
  const int64_t key_head = head / (shape.heads / shape.key_heads);
  linalg::GemmArgs<T> products = ScoreProduct<T>(shape, count);
  products.a = args.query.At(batch, head) + first * args.query.row_step;
  products.lda = args.query.row_step;
  products.b = args.key.At(batch, key_head);
  products.ldb = args.key.row_step;
  products.c = scores;
  products.alpha = static_cast<T>(args.scale);
  linalg::Gemm(products, workspace);
  constexpr int64_t kStepsOfScore = 8;
  ForEachUntilEnd(0, count, StepsOf(shape.keys, kStepsOfScore), [&](int64_t i) {
    const int64_t query = first + i;
    const int64_t offset = batch * args.mask.steps[0] + head * args.mask.steps[1] + query * args.mask.steps[2];
    T* const kept = args.scores == nullptr
                        ? nullptr
                        : args.scores + ((batch * shape.heads + head) * shape.queries + query) * shape.keys;
    const T* const sink = args.sinks == nullptr ? nullptr : args.sinks + head;
    Weigh(args, offset, KeysOf(args, batch, query), sink, scores + i * shape.keys, kept);
  });
  linalg::GemmArgs<T> sums = ValueProduct<T>(shape, count);
  sums.a = scores;
  sums.b = args.value.At(batch, key_head);
  sums.ldb = args.value.row_step;
  sums.c = args.target.At(batch, head) + first * args.target.row_step;
  sums.ldc = args.target.row_step;
  linalg::Gemm(sums, workspace);
}

}  // namespace

Status CheckAttention(const AttentionShape& shape) {
  constexpr int64_t kMost = int64_t{1} << 42;
  const int64_t extents[] = {shape.batch, std::max(shape.heads, shape.key_heads), shape.queries, shape.keys,
                             std::max(shape.size, shape.value_size)};
  const auto product = [&extents](std::initializer_list<size_t> which) {
    int64_t all = kQueryTile;
    for (const size_t i : which)
      if (__builtin_mul_overflow(all, std::max<int64_t>(1, extents[i]), &all)) return kMost + 1;
    return all;
  };
  if (product({0, 1, 2, 3}) <= kMost && product({0, 1, 2, 4}) <= kMost && product({0, 1, 3, 4}) <= kMost) return {};
  return Error(StatusCode::kInvalidArgument, "{} x {} heads, {} queries and {} keys of {} elements are too large",
               shape.batch, extents[1], shape.queries, shape.keys, extents[4]);
}

template <class T>
size_t AttentionMemory(const AttentionShape& shape, const ThreadPool& pool) {
  const TileMemory<T> tile(shape);
  return static_cast<size_t>(SlotCount(pool, shape.batch * shape.heads * TilesOf(shape))) *
         (tile.scores + tile.products);
}

template <class T>
void Attend(const AttentionArgs<T>& args, void* memory, ThreadPool& pool) {
  const AttentionShape& shape = args.shape;
  const int64_t tiles = TilesOf(shape);
  const TileMemory<T> tile(shape);
  ForEachInSlots(pool, shape.batch * shape.heads * tiles, [&](int64_t item, int64_t slot) {
    const int64_t first = item % tiles * kQueryTile, head = item / tiles % shape.heads;
    char* const place = static_cast<char*>(memory) + static_cast<size_t>(slot) * (tile.scores + tile.products);
    AttendTile(args, item / tiles / shape.heads, head, first, std::min(kQueryTile, shape.queries - first),
               reinterpret_cast<T*>(place), place + tile.scores);
  });
}

template size_t AttentionMemory<float>(const AttentionShape&, const ThreadPool&);
template size_t AttentionMemory<double>(const AttentionShape&, const ThreadPool&);
template void Attend<float>(const AttentionArgs<float>&, void*, ThreadPool&);
template void Attend<double>(const AttentionArgs<double>&, void*, ThreadPool&);

}  // namespace deputy::host
