// Scaled dot-product attention, head by head, for a few queries at a time: the whole matrices of scores and
// probabilities are in memory only on request.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/status.hpp"
#include "base/thread_pool.hpp"

namespace deputy::host {

struct AttentionShape {
  int64_t batch = 0, heads = 0, key_heads = 0;  // heads are a multiple of key_heads: groups of heads share keys
  int64_t queries = 0, keys = 0, past = 0;      // keys include the past ones
  int64_t size = 0, value_size = 0;             // of a query and key; of a value
};

// Rows of one head of one batch, in a tensor in which the heads may be parts of the rows. Steps are in elements.
template <class T>
struct HeadRows {
  T* data = nullptr;
  int64_t batch_step = 0, head_step = 0, row_step = 0;

  T* At(int64_t batch, int64_t head) const { return data + batch * batch_step + head * head_step; }
};

// A summand of the scores; a bool mask excludes keys where it is false. Keys from `keys` on are excluded too.
struct AttentionMask {
  const void* data = nullptr;  // bool (bytes) or the kernel's type
  bool is_bool = false;
  int64_t keys = 0;
  std::array<int64_t, 4> steps = {};  // batch, head, query, key; zero where the mask is broadcast
};

enum class AttentionScores : uint8_t { kPlain, kCapped, kMasked, kProbabilities };

template <class T>
struct AttentionArgs {
  AttentionShape shape;
  HeadRows<const T> query, key, value;
  HeadRows<T> target;
  AttentionMask mask;
  bool causal = false;  // a query attends to the keys up to its own, which is at the query's index and the past
  // Keys that a query attends to before its own and behind it, if not negative.
  int64_t left = -1, right = -1;
  // By batch: the keys from this number on are padding; the last of the others belongs to the last query. Null: none is
  // padding.
  const int64_t* lengths = nullptr;
  const T* sinks = nullptr;  // by head: the score of one more key with value zero
  double scale = 1, cap = 0;
  T* scores = nullptr;  // [batch, heads, queries, keys], if wanted
  AttentionScores which = AttentionScores::kPlain;
};

// Fails for extents whose products overflow; the functions below do not check them again. Extents of zero count as one:
// heads without elements are iterated too.
Status CheckAttention(const AttentionShape& shape);

// Bytes of `memory` for Attend; it must be aligned to 64.
template <class T>
size_t AttentionMemory(const AttentionShape& shape, const ThreadPool& pool);

// A query without keys gives zeros.
template <class T>
void Attend(const AttentionArgs<T>& args, void* memory, ThreadPool& pool);

}  // namespace deputy::host
