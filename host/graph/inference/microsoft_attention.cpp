// Inference of the attention operators of com.microsoft.
#include <algorithm>

#include "graph/inference/dims.hpp"
#include "graph/inference/functions.hpp"

namespace deputy::host {
namespace {

int64_t Extent(const ValueType& type, size_t axis) {
  return type.ranked && axis < type.dims.size() ? type.dims[axis] : kUnknownDim;
}
int64_t ExtentOf(const InferenceContext& context, size_t input, size_t axis) {
  return context.has_input(input) ? Extent(context.input(input), axis) : 0;
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
  return Error(StatusCode::kModel, "input {} has rank {}", input, rank);
}

constexpr int64_t kMostHeads = 1 << 24;
Result<int64_t> HeadsOf(const InferenceContext& context, const char* attribute) {
  const int64_t heads = context.primitive().GetInt(attribute, 0);
  if (heads < 1 || heads > kMostHeads) return Error(StatusCode::kModel, "{} is {}", attribute, heads);
  return heads;
}

// Elements of one head; fails when the heads do not divide them.
Result<int64_t> SizeOfHead(int64_t elements, int64_t heads) {
  if (elements >= 0 && elements % heads != 0)
    return Error(StatusCode::kModel, "{} elements do not divide into {} heads", elements, heads);
  return elements < 0 ? kUnknownDim : elements / heads;
}

}  // namespace

Status InferMicrosoft_Attention(InferenceContext& context) {
  const ValueType &x = context.input(0), &weights = context.input(1);
  DEPUTY_RETURN_IF_ERROR(CheckRank(context, 0, 3, 3));
  DEPUTY_RETURN_IF_ERROR(CheckRank(context, 1, 2, 2));
  DEPUTY_RETURN_IF_ERROR(CheckRank(context, 4, 5, 5));
  DEPUTY_ASSIGN_OR_RETURN(const int64_t heads, HeadsOf(context, "num_heads"));
  const std::span<const int64_t> sizes = context.primitive().GetInts("qkv_hidden_sizes");
  int64_t hidden = Extent(weights, 1) < 0 ? kUnknownDim : Extent(weights, 1) / 3;
  if (!sizes.empty()) {
    if (sizes.size() != 3 || sizes[2] < 1)
      return Error(StatusCode::kModel, "qkv_hidden_sizes does not hold three sizes");
    hidden = sizes[2];
  }
  DEPUTY_ASSIGN_OR_RETURN(const int64_t size, SizeOfHead(hidden, heads));
  context.SetOutput(0, x.dtype, {Extent(x, 0), Extent(x, 1), hidden});
  const int64_t keys = SumOf(ExtentOf(context, 4, 3), Extent(x, 1));
  context.SetOutput(1, x.dtype, {2, Extent(x, 0), heads, keys, size});
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
  int64_t size = packed ? Extent(q, 4) : 0, value_size = size, fresh = Extent(q, 1);
  if (!packed) {
    DEPUTY_ASSIGN_OR_RETURN(size, SizeOfHead(Extent(q, 2), heads));
    value_size = size;
  }
  if (context.has_input(1)) fresh = Extent(context.input(1), key_rank == 4 ? 2 : 1);
  if (context.has_input(2)) {
    const ValueType& v = context.input(2);
    if (v.ranked && v.dims.size() == 4) {
      value_size = Extent(v, 3);
    } else {
      DEPUTY_ASSIGN_OR_RETURN(value_size, SizeOfHead(Extent(v, 2), heads));
    }
  }
  const int64_t keys = SumOf(ExtentOf(context, 6, 2), fresh);
  context.SetOutput(0, q.dtype, {Extent(q, 0), Extent(q, 1), ProductOf(heads, value_size)});
  context.SetOutput(1, q.dtype, {Extent(q, 0), heads, keys, size});
  context.SetOutput(2, q.dtype, {Extent(q, 0), heads, keys, value_size});
  context.SetOutput(3, q.dtype, {Extent(q, 0), heads, Extent(q, 1), keys});
  return {};
}

Status InferMicrosoft_GroupQueryAttention(InferenceContext& context) {
  const ValueType& q = context.input(0);
  DEPUTY_RETURN_IF_ERROR(CheckRank(context, 0, 3, 3));
  DEPUTY_RETURN_IF_ERROR(CheckRank(context, 3, 4, 4));
  DEPUTY_ASSIGN_OR_RETURN(const int64_t heads, HeadsOf(context, "num_heads"));
  DEPUTY_ASSIGN_OR_RETURN(const int64_t key_heads, HeadsOf(context, "kv_num_heads"));
  const bool packed = !context.has_input(1);
  DEPUTY_ASSIGN_OR_RETURN(const int64_t size, SizeOfHead(Extent(q, 2), packed ? heads + 2 * key_heads : heads));
  // The larger of the room of the past and the longest sequence.
  int64_t keys = kUnknownDim;
  if (const Tensor* total = context.constant(6)) {
    DEPUTY_ASSIGN_OR_RETURN(const int64_t longest, IntOf(*total, "total_sequence_length"));
    const int64_t past = ExtentOf(context, 3, 2);
    keys = past < 0 ? kUnknownDim : std::max(past, longest);
  }
  context.SetOutput(0, q.dtype, {Extent(q, 0), Extent(q, 1), ProductOf(heads, size)});
  context.SetOutput(1, q.dtype, {Extent(q, 0), key_heads, keys, size});
  context.SetOutput(2, q.dtype, {Extent(q, 0), key_heads, keys, size});
  return {};
}

}  // namespace deputy::host
