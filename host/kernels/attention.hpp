// Scaled dot-product attention, head by head, a few queries at a time: neither all scores nor all probabilities are
// ever in memory, unless they are asked for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/status.hpp"
#include "base/thread_pool.hpp"

namespace deputy::host {

struct AttentionShape {
  int64_t batch = 0, heads = 0, key_heads = 0;  // heads are a multiple of key_heads: groups of them share keys
  int64_t queries = 0, keys = 0, past = 0;      // keys count the past ones
  int64_t size = 0, value_size = 0;             // of a query and key; of a value
};

// Rows of one head of one batch, in a tensor that may have the heads inside its rows. Steps are in elements.
template <class T>
struct HeadRows {
  T* data = nullptr;
  int64_t batch_step = 0, head_step = 0, row_step = 0;

  T* At(int64_t batch, int64_t head) const { return data + batch * batch_step + head * head_step; }
};

// Added to the scores, or where it is bool and false taking them away. Keys from `keys` on are taken away too.
struct AttentionMask {
  const void* data = nullptr;  // bool (bytes) or the kernel's type
  bool is_bool = false;
  int64_t keys = 0;
  std::array<int64_t, 4> steps = {};  // batch, head, query, key; zero where it is broadcast
};

enum class AttentionScores : uint8_t { kPlain, kCapped, kMasked, kProbabilities };

template <class T>
struct AttentionArgs {
  AttentionShape shape;
  HeadRows<const T> query, key, value;
  HeadRows<T> target;
  AttentionMask mask;
  bool causal = false;       // a query sees the past keys and those up to its own
  int64_t window = -1;       // of those only the last `window`, when not negative
  const T* sinks = nullptr;  // by head: the score of one more key whose value is zero
  double scale = 1, cap = 0;
  T* scores = nullptr;  // [batch, heads, queries, keys], if wanted
  AttentionScores which = AttentionScores::kPlain;
};

// Fails for extents whose products no machine's memory holds; what follows does not look at them again. Extents of zero
// count as one: heads without elements take their time all the same.
Status CheckAttention(const AttentionShape& shape);

// Bytes of `memory` for Attend; it must be aligned to 64.
template <class T>
size_t AttentionMemory(const AttentionShape& shape, const ThreadPool& pool);

// A query that sees no key gives zeros.
template <class T>
void Attend(const AttentionArgs<T>& args, void* memory, ThreadPool& pool);

}  // namespace deputy::host
