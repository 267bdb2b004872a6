// Inference of Attention, LinearAttention, CausalConvWithState and RotaryEmbedding, and of the attention operators of
// com.microsoft.
#include <algorithm>
#include <string_view>
#include <utility>

#include "graph/inference/attention_operands.hpp"
#include "graph/inference/functions.hpp"

namespace deputy::host {
namespace {

Result<HeadExtents> ExtentsOf(const ValueType& type, int64_t heads) {
  if (type.dims.size() == 4) return HeadExtents{type.dims[0], type.dims[1], type.dims[2], type.dims[3]};
  if (type.dims.size() != 3)
    return Error(StatusCode::kModel, "query, key and value must have rank 3 or 4, got rank {}", type.dims.size());
  if (heads < 1) return Error(StatusCode::kModel, "q_num_heads and kv_num_heads are required for inputs of rank 3");
  const int64_t hidden = type.dims[2];
  if (hidden >= 0 && hidden % heads != 0)
    return Error(StatusCode::kModel, "hidden size {} is not divisible by the number of heads {}", hidden, heads);
  return HeadExtents{type.dims[0], heads, type.dims[1], hidden < 0 ? kUnknownDim : hidden / heads};
}

int64_t ExtentOf(const InferenceContext& context, size_t input, size_t axis) {
  return context.has_input(input) ? DimOf(context.input(input), axis) : 0;
}
int64_t SumOf(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (a >= 0 && b >= 0) return __builtin_add_overflow(a, b, &sum) ? kUnknownDim : sum;
  return b == 0 ? a : a == 0 ? b : kUnknownDim;
}
int64_t ProductOf(int64_t a, int64_t b) {
  const Result<int64_t> product = DimProduct(std::vector<int64_t>{a, b});
  return product.ok() ? *product : kUnknownDim;
}

Status CheckRank(const InferenceContext& context, size_t input, size_t least, size_t most) {
  if (!context.has_input(input) || !context.input(input).ranked) return {};
  const size_t rank = context.input(input).dims.size();
  if (rank >= least && rank <= most) return {};
  return Error(StatusCode::kModel, "input {} has rank {}, expected {}", input, rank,
               least == most ? std::to_string(least) : fmt::format("{} to {}", least, most));
}

constexpr int64_t kMostHeads = 1 << 24;
Result<int64_t> HeadsOf(const InferenceContext& context, const char* attribute) {
  const int64_t heads = context.primitive().GetInt(attribute, 0);
  if (heads < 1 || heads > kMostHeads)
    return Error(StatusCode::kModel, "{} must be between 1 and {}, got {}", attribute, kMostHeads, heads);
  return heads;
}

// Elements of one head; fails when the heads do not divide them.
Result<int64_t> SizeOfHead(int64_t elements, int64_t heads) {
  if (elements >= 0 && elements % heads != 0)
    return Error(StatusCode::kModel, "hidden size {} is not divisible by the number of heads {}", elements, heads);
  return elements < 0 ? kUnknownDim : elements / heads;
}

}  // namespace

Status InferAttention(InferenceContext& context) {
  const ValueType &q = context.input(0), &k = context.input(1), &v = context.input(2);
  if (!q.ranked || !k.ranked || !v.ranked) {
    for (size_t i = 0; i < 4; ++i) context.SetOutputUnranked(i, q.dtype);
    return {};
  }
  const int64_t heads = context.primitive().GetInt("q_num_heads", 0);
  const int64_t key_heads = context.primitive().GetInt("kv_num_heads", 0);
  if (const int64_t number = context.primitive().GetInt("softmax_precision", 0); number != 0) {
    const DType precision = number > 0 && number <= 31 ? static_cast<DType>(number) : DType::kUndefined;
    if (precision != DType::kFloat32 && precision != DType::kFloat64 && precision != DType::kFloat16 &&
        precision != DType::kBFloat16)
      return Error(StatusCode::kModel,
                   "softmax_precision must be 1 (float32), 10 (float16), 11 (float64) or 16 (bfloat16), got {}",
                   number);
  }
  for (const char* window : {"left_window_size", "right_window_size"})
    if (const int64_t size = context.primitive().GetInt(window, -1); size < -1)
      return Error(StatusCode::kModel, "{} must be -1 or more, got {}", window, size);
  if (context.has_input(6) && (context.has_input(4) || context.has_input(5)))
    return Error(StatusCode::kModel, "nonpad_kv_seqlen cannot be combined with past_key and past_value");
  DEPUTY_RETURN_IF_ERROR(CheckRank(context, 6, 1, 1));
  DEPUTY_ASSIGN_OR_RETURN(const HeadExtents queries, ExtentsOf(q, heads));
  DEPUTY_ASSIGN_OR_RETURN(const HeadExtents keys, ExtentsOf(k, key_heads));
  DEPUTY_ASSIGN_OR_RETURN(const HeadExtents values, ExtentsOf(v, key_heads));
  DEPUTY_RETURN_IF_ERROR(CheckAttentionOperands(context, queries, keys, values));
  int64_t rows = keys.rows;
  if (context.has_input(4)) {
    const ValueType& past = context.input(4);
    const int64_t more = past.ranked && past.dims.size() == 4 ? past.dims[2] : kUnknownDim;
    rows = rows >= 0 && more >= 0 ? rows + more : more == 0 ? rows : kUnknownDim;
  }
  if (q.dims.size() == 4) {
    context.SetOutput(0, q.dtype, {queries.batch, queries.heads, queries.rows, values.size});
  } else {
    DEPUTY_ASSIGN_OR_RETURN(const int64_t hidden, DimProduct(std::vector<int64_t>{queries.heads, values.size}));
    context.SetOutput(0, q.dtype, {queries.batch, queries.rows, hidden});
  }
  context.SetOutput(1, q.dtype, {queries.batch, keys.heads, rows, keys.size});
  context.SetOutput(2, v.dtype, {queries.batch, values.heads, rows, values.size});
  context.SetOutput(3, q.dtype, {queries.batch, queries.heads, queries.rows, rows});
  return {};
}

Status InferLinearAttention(InferenceContext& context) {
  const ValueType &q = context.input(0), &k = context.input(1), &v = context.input(2);
  for (size_t i = 0; i < 3; ++i) DEPUTY_RETURN_IF_ERROR(CheckRank(context, i, 3, 3));
  DEPUTY_RETURN_IF_ERROR(CheckRank(context, 3, 4, 4));
  DEPUTY_RETURN_IF_ERROR(CheckRank(context, 4, 3, 3));
  DEPUTY_RETURN_IF_ERROR(CheckRank(context, 5, 3, 3));
  DEPUTY_ASSIGN_OR_RETURN(const int64_t heads, HeadsOf(context, "q_num_heads"));
  DEPUTY_ASSIGN_OR_RETURN(const int64_t key_heads, HeadsOf(context, "kv_num_heads"));
  if (heads % key_heads != 0)
    return Error(StatusCode::kModel, "q_num_heads ({}) must be a multiple of kv_num_heads ({})", heads, key_heads);
  const std::string_view rule = context.primitive().GetString("update_rule", "gated_delta");
  const std::pair<const char*, bool> needed[] = {{"decay", rule.starts_with("gated")},
                                                 {"beta", rule.ends_with("delta")}};
  for (size_t i = 0; i < 2; ++i)
    if (context.has_input(4 + i) != needed[i].second)
      return Error(StatusCode::kModel, "update_rule '{}' {} input '{}'", rule,
                   needed[i].second ? "requires the" : "does not read the", needed[i].first);
  DEPUTY_ASSIGN_OR_RETURN(const int64_t size, SizeOfHead(DimOf(q, 2), heads));
  DEPUTY_ASSIGN_OR_RETURN(const int64_t key_size, SizeOfHead(DimOf(k, 2), key_heads));
  DEPUTY_ASSIGN_OR_RETURN(const int64_t value_size, SizeOfHead(DimOf(v, 2), key_heads));
  if (!MergeDim(size, key_size).ok())
    return Error(StatusCode::kModel, "the heads of query and key have {} and {} elements", size, key_size);
  context.SetOutput(0, q.dtype, {DimOf(q, 0), DimOf(q, 1), ProductOf(heads, value_size)});
  const DType state = context.has_input(3) ? context.input(3).dtype : q.dtype;
  context.SetOutput(1, state, {DimOf(q, 0), key_heads, size < 0 ? key_size : size, value_size});
  return {};
}

Status InferCausalConvWithState(InferenceContext& context) {
  const ValueType &x = context.input(0), &weight = context.input(1);
  for (const size_t i : {size_t{0}, size_t{1}, size_t{3}}) DEPUTY_RETURN_IF_ERROR(CheckRank(context, i, 3, 3));
  DEPUTY_RETURN_IF_ERROR(CheckRank(context, 2, 1, 1));
  if (!MergeDim(DimOf(weight, 0), DimOf(x, 1)).ok() || !MergeDim(DimOf(weight, 1), 1).ok() || DimOf(weight, 2) == 0)
    return Error(StatusCode::kModel,
                 "weight of shape {} does not match an input of {} channels, expected [channels,1,k]",
                 ShapeToString(weight.dims), DimOf(x, 1));
  context.SetOutput(0, x);
  const int64_t kernel = DimOf(weight, 2);
  context.SetOutput(1, x.dtype, {DimOf(x, 0), DimOf(x, 1), kernel < 0 ? kUnknownDim : kernel - 1});
  return {};
}

Status InferRotaryEmbedding(InferenceContext& context) {
  DEPUTY_RETURN_IF_ERROR(CheckRotaryOperands(context));
  return context.Output(context.input(0));
}

Status InferMicrosoft_Attention(InferenceContext& context) {
  const ValueType &x = context.input(0), &weights = context.input(1);
  DEPUTY_RETURN_IF_ERROR(CheckRank(context, 0, 3, 3));
  DEPUTY_RETURN_IF_ERROR(CheckRank(context, 1, 2, 2));
  DEPUTY_RETURN_IF_ERROR(CheckRank(context, 4, 5, 5));
  DEPUTY_ASSIGN_OR_RETURN(const int64_t heads, HeadsOf(context, "num_heads"));
  const std::span<const int64_t> sizes = context.primitive().GetInts("qkv_hidden_sizes");
  int64_t hidden = DimOf(weights, 1) < 0 ? kUnknownDim : DimOf(weights, 1) / 3;
  if (!sizes.empty()) {
    if (sizes.size() != 3 || sizes[2] < 1)
      return Error(StatusCode::kModel, "qkv_hidden_sizes must hold 3 positive sizes");
    hidden = sizes[2];
  }
  DEPUTY_ASSIGN_OR_RETURN(const int64_t size, SizeOfHead(hidden, heads));
  DEPUTY_RETURN_IF_ERROR(CheckMicrosoftAttentionOperands(context, heads));
  context.SetOutput(0, x.dtype, {DimOf(x, 0), DimOf(x, 1), hidden});
  const int64_t keys = SumOf(ExtentOf(context, 4, 3), DimOf(x, 1));
  context.SetOutput(1, x.dtype, {2, DimOf(x, 0), heads, keys, size});
  return {};
}

Status InferMicrosoft_MultiHeadAttention(InferenceContext& context) {
  const ValueType& q = context.input(0);
  DEPUTY_RETURN_IF_ERROR(CheckRank(context, 0, 3, 5));
  DEPUTY_RETURN_IF_ERROR(CheckRank(context, 1, 3, 5));
  DEPUTY_RETURN_IF_ERROR(CheckRank(context, 2, 3, 4));
  DEPUTY_RETURN_IF_ERROR(CheckRank(context, 6, 4, 4));
  DEPUTY_ASSIGN_OR_RETURN(const int64_t heads, HeadsOf(context, "num_heads"));
  const bool packed = q.ranked && q.dims.size() == 5;
  const size_t key_rank = context.has_input(1) && context.input(1).ranked ? context.input(1).dims.size() : 3;
  int64_t size = packed ? DimOf(q, 4) : 0, value_size = size, fresh = DimOf(q, 1);
  if (!packed) {
    DEPUTY_ASSIGN_OR_RETURN(size, SizeOfHead(DimOf(q, 2), heads));
    value_size = size;
  }
  if (context.has_input(1)) fresh = DimOf(context.input(1), key_rank == 4 ? 2 : 1);
  if (context.has_input(2)) {
    const ValueType& v = context.input(2);
    if (v.ranked && v.dims.size() == 4) {
      value_size = DimOf(v, 3);
    } else {
      DEPUTY_ASSIGN_OR_RETURN(value_size, SizeOfHead(DimOf(v, 2), heads));
    }
  }
  DEPUTY_RETURN_IF_ERROR(CheckMultiHeadOperands(context, heads, size, value_size));
  const int64_t keys = SumOf(ExtentOf(context, 6, 2), fresh);
  context.SetOutput(0, q.dtype, {DimOf(q, 0), DimOf(q, 1), ProductOf(heads, value_size)});
  context.SetOutput(1, q.dtype, {DimOf(q, 0), heads, keys, size});
  context.SetOutput(2, q.dtype, {DimOf(q, 0), heads, keys, value_size});
  context.SetOutput(3, q.dtype, {DimOf(q, 0), heads, DimOf(q, 1), keys});
  return {};
}

Status InferMicrosoft_GroupQueryAttention(InferenceContext& context) {
  const ValueType& q = context.input(0);
  DEPUTY_RETURN_IF_ERROR(CheckRank(context, 0, 3, 3));
  DEPUTY_RETURN_IF_ERROR(CheckRank(context, 3, 4, 4));
  DEPUTY_ASSIGN_OR_RETURN(const int64_t heads, HeadsOf(context, "num_heads"));
  DEPUTY_ASSIGN_OR_RETURN(const int64_t key_heads, HeadsOf(context, "kv_num_heads"));
  const bool packed = !context.has_input(1);
  DEPUTY_ASSIGN_OR_RETURN(const int64_t size, SizeOfHead(DimOf(q, 2), packed ? heads + 2 * key_heads : heads));
  DEPUTY_RETURN_IF_ERROR(CheckGroupQueryOperands(context, heads, key_heads, size));
  // The larger of the room of the past and the longest sequence.
  int64_t keys = kUnknownDim;
  if (const Tensor* total = context.constant(6)) {
    DEPUTY_ASSIGN_OR_RETURN(const int64_t longest, IntOf(*total, "total_sequence_length"));
    const int64_t past = ExtentOf(context, 3, 2);
    keys = past < 0 ? kUnknownDim : std::max(past, longest);
  }
  context.SetOutput(0, q.dtype, {DimOf(q, 0), DimOf(q, 1), ProductOf(heads, size)});
  context.SetOutput(1, q.dtype, {DimOf(q, 0), key_heads, keys, size});
  context.SetOutput(2, q.dtype, {DimOf(q, 0), key_heads, keys, size});
  return {};
}

}  // namespace deputy::host
