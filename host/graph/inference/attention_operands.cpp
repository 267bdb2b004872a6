#include "graph/inference/attention_operands.hpp"

#include <algorithm>
#include <array>

#include "base/checked.hpp"
#include "graph/inference/functions.hpp"
#include "graph/inference/operands.hpp"

namespace deputy::host {
namespace {

// Of extents that are known; kUnknownDim otherwise, or where the result does not fit.
int64_t Times(int64_t a, int64_t b) {
  return a < 0 || b < 0 ? kUnknownDim : CheckedMultiply(a, b).value_or(kUnknownDim);
}
int64_t Plus(int64_t a, int64_t b) { return a < 0 || b < 0 ? kUnknownDim : CheckedAdd(a, b).value_or(kUnknownDim); }

// The extent of an optional input; 0 where it is omitted.
int64_t ExtentOrNone(const InferenceContext& context, size_t input, size_t axis) {
  return context.has_input(input) ? DimOf(context.input(input), axis) : 0;
}

bool HasRank(const ValueType& type, size_t rank) { return !type.ranked || type.dims.size() == rank; }

Status DoNotFit(const InferenceContext& context) {
  return Error(StatusCode::kModel, "query {}, key {} and value {} do not match", ShapeToString(context.input(0).dims),
               ShapeToString(context.input(1).dims), ShapeToString(context.input(2).dims));
}

// [batch or 1, heads or 1, queries or 1, keys], without leading axes; fewer keys are those that are seen.
Status CheckMask(const InferenceContext& context, const HeadExtents& queries, int64_t keys) {
  if (!context.has_input(3) || !context.input(3).ranked) return {};
  const std::vector<int64_t>& mask = context.input(3).dims;
  const std::array<int64_t, 4> wanted = {queries.batch, queries.heads, queries.rows, keys};
  bool fits = !mask.empty() && mask.size() <= wanted.size();
  for (size_t i = 0; fits && i < mask.size(); ++i) {
    const size_t axis = wanted.size() - mask.size() + i;
    fits = mask[i] == 1 || MayEqual(mask[i], wanted[axis]) || (axis == 3 && mask[i] < keys);
  }
  if (fits) return {};
  return Error(StatusCode::kModel, "input 'attn_mask' with shape {} cannot be broadcast to {}", ShapeToString(mask),
               ShapeToString(wanted));
}

// Tables of cosines and sines have one shape.
Status CheckTables(const InferenceContext& context, size_t cosines, size_t sines) {
  if (!context.has_input(cosines) || !context.input(cosines).ranked) return {};
  return CheckShape(context, sines, context.input(cosines).dims, "sin_cache");
}

// Tables [positions, half of the rotated part].
Status CheckTablesOfHalf(const InferenceContext& context, size_t cosines, size_t sines, int64_t size, int64_t turned) {
  DEPUTY_RETURN_IF_ERROR(
      CheckShape(context, cosines, {kUnknownDim, turned == 0 ? kUnknownDim : turned / 2}, "cos_cache"));
  DEPUTY_RETURN_IF_ERROR(CheckTables(context, cosines, sines));
  const int64_t half = DimOf(context.input(cosines), 1);
  if (size < 0 || half <= size / 2) return {};
  return Error(StatusCode::kModel, "input 'cos_cache' has {} columns, expected at most half of the head size {}", half,
               size);
}

// Bias of the scores: [batch or 1, heads or 1, queries, keys].
Status CheckScoreBias(const InferenceContext& context, size_t i, const std::array<int64_t, 4>& scores) {
  if (!context.has_input(i) || !context.input(i).ranked) return {};
  std::array<int64_t, 4> wanted = scores;
  for (size_t axis = 0; axis < 2; ++axis)
    if (DimOf(context.input(i), axis) == 1) wanted[axis] = 1;
  return CheckShape(context, i, wanted, "attention_bias");
}

// A mask has lengths for each sequence, perhaps with starts, or a flag for each key, or for each query and key.
Status CheckKeyMask(const InferenceContext& context, size_t i, int64_t batch, int64_t queries, int64_t keys) {
  if (!context.has_input(i) || !context.input(i).ranked) return {};
  const std::vector<int64_t>& mask = context.input(i).dims;
  bool fits = true;
  switch (mask.size()) {
    case 1:
      fits =
          MayEqual(mask[0], batch) || MayEqual(mask[0], Times(2, batch)) || MayEqual(mask[0], Plus(Times(3, batch), 2));
      break;
    case 2:
      fits = (MayEqual(mask[0], batch) && MayEqual(mask[1], keys)) ||
             (MayEqual(mask[1], 1) && (mask[0] == 1 || MayEqual(mask[0], batch)));
      break;
    case 3: fits = MayEqual(mask[0], batch) && MayEqual(mask[1], queries) && MayEqual(mask[2], keys); break;
    case 4: break;  // for a maximum length, which some delegates have
    default: fits = false; break;
  }
  if (fits) return {};
  return Error(StatusCode::kModel, "the mask of shape {} does not match {} sequences of {} queries and {} keys",
               ShapeToString(mask), batch, queries, keys);
}

}  // namespace

Status CheckAttentionOperands(const InferenceContext& context, const HeadExtents& q, const HeadExtents& k,
                              const HeadExtents& v) {
  const size_t rank = context.input(0).dims.size();
  const bool fits = HasRank(context.input(1), rank) && HasRank(context.input(2), rank) && MayEqual(q.batch, k.batch) &&
                    MayEqual(q.batch, v.batch) && MayEqual(k.batch, v.batch) && MayEqual(k.heads, v.heads) &&
                    MayEqual(k.rows, v.rows) && MayEqual(q.size, k.size);
  if (!fits) return DoNotFit(context);
  if (q.heads == 0 || k.heads == 0 || (q.heads > 0 && k.heads > 0 && q.heads % k.heads != 0))
    return Error(StatusCode::kModel, "{} heads of the query are not a multiple of the {} of key and value", q.heads,
                 k.heads);
  const int64_t mode = context.primitive().GetInt("qk_matmul_output_mode", 0);
  if (mode < 0 || mode > 3) return Error(StatusCode::kModel, "qk_matmul_output_mode must be 0 to 3, got {}", mode);
  DEPUTY_RETURN_IF_ERROR(CheckGivenTogether(context, 4, 5, "past_key and past_value"));
  const int64_t past = ExtentOrNone(context, 4, 2);
  DEPUTY_RETURN_IF_ERROR(CheckShape(context, 4, {q.batch, k.heads, kUnknownDim, q.size}, "past_key"));
  DEPUTY_RETURN_IF_ERROR(CheckShape(context, 5, {q.batch, k.heads, past, v.size}, "past_value"));
  return CheckMask(context, q, Plus(past, k.rows));
}

Status CheckRotaryOperands(const InferenceContext& context) {
  const ValueType& x = context.input(0);
  const int64_t turned = context.primitive().GetInt("rotary_embedding_dim", 0);
  if (turned < 0) return Error(StatusCode::kModel, "rotary_embedding_dim must not be negative, got {}", turned);
  DEPUTY_RETURN_IF_ERROR(CheckTables(context, 1, 2));
  if (!x.ranked) return {};
  if (x.dims.size() != 3 && x.dims.size() != 4)
    return Error(StatusCode::kModel, "X has rank {}, expected 3 or 4", x.dims.size());
  const bool flat = x.dims.size() == 3;
  int64_t size = x.dims.back();
  if (flat) {
    const int64_t heads = context.primitive().GetInt("num_heads", 0);
    if (heads < 1 || (size >= 0 && size % heads != 0))
      return Error(StatusCode::kModel, "X of shape {} cannot be divided into num_heads ({}) heads",
                   ShapeToString(x.dims), heads);
    size = size < 0 ? kUnknownDim : size / heads;
  }
  if (size >= 0 && turned > size)
    return Error(StatusCode::kModel, "rotary_embedding_dim {} exceeds the head size {}", turned, size);
  const int64_t rotated = turned == 0 ? size : turned, half = rotated < 0 ? kUnknownDim : rotated / 2;
  const int64_t batch = x.dims[0], count = x.dims[flat ? 1 : 2];
  if (!context.has_input(3)) return CheckShape(context, 1, {batch, count, half}, "cos_cache");
  DEPUTY_RETURN_IF_ERROR(CheckShape(context, 1, {kUnknownDim, half}, "cos_cache"));
  DEPUTY_RETURN_IF_ERROR(CheckShape(context, 3, {batch, count}, "position_ids"));
  const int64_t positions = DimOf(context.input(1), 0);
  return positions < 0 ? Status() : CheckValues(context, 3, {0, positions - 1}, "position_ids");
}

Status CheckMicrosoftAttentionOperands(const InferenceContext& context, int64_t heads) {
  const ValueType& x = context.input(0);
  const int64_t columns = DimOf(context.input(1), 1), batch = DimOf(x, 0), queries = DimOf(x, 1);
  const std::span<const int64_t> sizes = context.primitive().GetInts("qkv_hidden_sizes");
  DEPUTY_RETURN_IF_ERROR(CheckShape(context, 1, {DimOf(x, 2), kUnknownDim}, "weights"));
  DEPUTY_RETURN_IF_ERROR(CheckShape(context, 2, {columns}, "bias"));
  std::array<int64_t, 3> hidden;
  hidden.fill(columns < 0 ? kUnknownDim : columns / 3);
  if (sizes.size() == hidden.size()) std::copy(sizes.begin(), sizes.end(), hidden.begin());
  const int64_t sum = Plus(Plus(hidden[0], hidden[1]), hidden[2]);
  const bool divided = hidden[0] < 0 || (hidden[0] > 0 && hidden[0] % heads == 0 && hidden[2] % heads == 0);
  if (!divided || hidden[0] != hidden[1] || !MayEqual(sum, columns))
    return Error(StatusCode::kModel, "{} columns of weights do not match sizes {} of {} heads", columns,
                 ShapeToString(hidden), heads);
  const int64_t size = hidden[0] < 0 ? kUnknownDim : hidden[0] / heads;
  DEPUTY_RETURN_IF_ERROR(CheckShape(context, 4, {2, batch, heads, kUnknownDim, size}, "past"));
  const bool joins = context.has_input(4) || (context.output_count() > 1 && context.node().outputs[1] != kNone);
  if (joins && hidden[0] != hidden[2])
    return Error(StatusCode::kModel, "past and present require equal sizes of keys and values, got {} and {}",
                 hidden[0], hidden[2]);
  const int64_t keys = Plus(ExtentOrNone(context, 4, 3), queries);
  DEPUTY_RETURN_IF_ERROR(CheckKeyMask(context, 3, batch, queries, keys));
  return CheckScoreBias(context, 5, {batch, heads, queries, keys});
}

Status CheckMultiHeadOperands(const InferenceContext& context, int64_t heads, int64_t size, int64_t value_size) {
  const ValueType& q = context.input(0);
  const bool has_key = context.has_input(1), has_value = context.has_input(2);
  const int64_t batch = DimOf(q, 0), queries = DimOf(q, 1);
  if (!has_key && has_value) return Error(StatusCode::kModel, "a value without a key is given");
  // Queries with their keys and values in one tensor, keys with their values, or each in its own.
  if (!has_key) {
    DEPUTY_RETURN_IF_ERROR(CheckShape(context, 0, {batch, queries, heads, 3, kUnknownDim}, "query"));
  } else {
    DEPUTY_RETURN_IF_ERROR(CheckShape(context, 0, {batch, queries, kUnknownDim}, "query"));
  }
  int64_t rows = has_key ? kUnknownDim : queries;
  if (has_key && !has_value) {
    DEPUTY_RETURN_IF_ERROR(CheckShape(context, 1, {batch, kUnknownDim, heads, 2, size}, "key"));
    rows = DimOf(context.input(1), 1);
  } else if (has_key && context.input(1).ranked) {
    const bool before = context.input(1).dims.size() == 4;  // keys and values of an earlier run, heads first
    rows = context.input(1).dims[before ? 2 : 1];
    if (before && context.has_input(6))
      return Error(StatusCode::kModel, "past_key cannot be combined with a key of rank 4");
    DEPUTY_RETURN_IF_ERROR(before ? CheckShape(context, 1, {batch, heads, rows, size}, "key")
                                  : CheckShape(context, 1, {batch, rows, Times(heads, size)}, "key"));
    DEPUTY_RETURN_IF_ERROR(before ? CheckShape(context, 2, {batch, heads, rows, kUnknownDim}, "value")
                                  : CheckShape(context, 2, {batch, rows, Times(heads, value_size)}, "value"));
  }
  DEPUTY_RETURN_IF_ERROR(CheckShape(context, 3, {Times(heads, Plus(Times(2, size), value_size))}, "bias"));
  DEPUTY_RETURN_IF_ERROR(CheckGivenTogether(context, 6, 7, "past_key and past_value"));
  const int64_t past = ExtentOrNone(context, 6, 2), keys = Plus(past, rows);
  DEPUTY_RETURN_IF_ERROR(CheckShape(context, 6, {batch, heads, kUnknownDim, size}, "past_key"));
  DEPUTY_RETURN_IF_ERROR(CheckShape(context, 7, {batch, heads, past, value_size}, "past_value"));
  DEPUTY_RETURN_IF_ERROR(CheckKeyMask(context, 4, batch, queries, keys));
  return CheckScoreBias(context, 5, {batch, heads, queries, keys});
}

Status CheckGroupQueryOperands(const InferenceContext& context, int64_t heads, int64_t key_heads, int64_t size) {
  const Primitive& primitive = context.primitive();
  const int64_t batch = DimOf(context.input(0), 0), queries = DimOf(context.input(0), 1);
  if (heads % key_heads != 0)
    return Error(StatusCode::kModel, "num_heads ({}) must be a multiple of kv_num_heads ({})", heads, key_heads);
  const int64_t window = primitive.GetInt("local_window_size", -1);
  if (window != -1 && (window < 1 || primitive.GetInt("causal", 1) == 0))
    return Error(StatusCode::kModel, "local_window_size {} must be -1, or positive with causal=1", window);
  if (size == 0) return Error(StatusCode::kModel, "query {} is empty", ShapeToString(context.input(0).dims));
  DEPUTY_RETURN_IF_ERROR(CheckGivenTogether(context, 1, 2, "key and value"));
  DEPUTY_RETURN_IF_ERROR(CheckShape(context, 1, {batch, queries, Times(key_heads, size)}, "key"));
  DEPUTY_RETURN_IF_ERROR(CheckShape(context, 2, {batch, queries, Times(key_heads, size)}, "value"));
  DEPUTY_RETURN_IF_ERROR(CheckGivenTogether(context, 3, 4, "past_key and past_value"));
  // A cache of fewer bits has elements of its own.
  const int64_t kept = primitive.GetInt("kv_cache_bit_width", 0) == 0 ? size : kUnknownDim;
  DEPUTY_RETURN_IF_ERROR(CheckShape(context, 3, {batch, key_heads, kUnknownDim, kept}, "past_key"));
  DEPUTY_RETURN_IF_ERROR(CheckShape(context, 4, {batch, key_heads, ExtentOrNone(context, 3, 2), kept}, "past_value"));
  DEPUTY_RETURN_IF_ERROR(CheckGiven(context, 5, "seqlens_k"));
  DEPUTY_RETURN_IF_ERROR(CheckGiven(context, 6, "total_sequence_length"));
  if (batch >= 0) DEPUTY_RETURN_IF_ERROR(CheckElements(context, 5, batch, "seqlens_k"));
  DEPUTY_RETURN_IF_ERROR(CheckOneElement(context, 6, "total_sequence_length"));
  DEPUTY_RETURN_IF_ERROR(CheckShape(context, 9, {batch, queries}, "position_ids"));
  DEPUTY_RETURN_IF_ERROR(CheckElements(context, 11, heads, "head_sink"));
  DEPUTY_RETURN_IF_ERROR(CheckScoreBias(context, 10, {batch, heads, queries, kUnknownDim}));
  if (primitive.GetInt("do_rotary", 0) == 0) return {};
  DEPUTY_RETURN_IF_ERROR(CheckGiven(context, 7, "cos_cache"));
  DEPUTY_RETURN_IF_ERROR(CheckGiven(context, 8, "sin_cache"));
  return CheckTablesOfHalf(context, 7, 8, size, 0);
}

Status CheckMicrosoftRotaryOperands(const InferenceContext& context) {
  const ValueType &x = context.input(0), &positions = context.input(1);
  const int64_t named = context.primitive().GetInt("num_heads", 0);
  const int64_t turned = context.primitive().GetInt("rotary_embedding_dim", 0);
  if (!x.ranked) return {};
  if (x.dims.size() != 3 && x.dims.size() != 4)
    return Error(StatusCode::kModel, "input has rank {}, expected 3 or 4", x.dims.size());
  const bool flat = x.dims.size() == 3;
  int64_t size = x.dims.back();
  if (flat && size >= 0) {
    // Without a number of heads, their size is that of the table.
    const int64_t table = Times(2, DimOf(context.input(2), 1));
    const int64_t heads = named > 0 ? named : table > 0 ? size / table : table;
    if (heads == 0 || (heads > 0 && size % heads != 0))
      return Error(StatusCode::kModel, "input of shape {} cannot be divided into {} heads", ShapeToString(x.dims),
                   heads);
    size = heads < 0 ? kUnknownDim : size / heads;
  }
  DEPUTY_RETURN_IF_ERROR(CheckTablesOfHalf(context, 2, 3, size, turned));
  const int64_t rows = DimOf(context.input(2), 0);
  if (rows >= 0 && positions.ranked && positions.dims.size() == 2)
    DEPUTY_RETURN_IF_ERROR(CheckValues(context, 1, {0, rows - 1}, "position_ids"));
  // The position of the first, or of each.
  if (positions.ranked && positions.dims.size() == 1) return CheckShape(context, 1, {1}, "position_ids");
  return CheckShape(context, 1, {x.dims[0], x.dims[flat ? 1 : 2]}, "position_ids");
}

}  // namespace deputy::host
