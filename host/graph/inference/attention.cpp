// Inference of Attention and RotaryEmbedding.
#include "graph/inference/dims.hpp"
#include "graph/inference/functions.hpp"

namespace deputy::host {
namespace {

// The extents of an operand as [batch, heads, rows, size], from this form or from [batch, rows, heads * size].
struct HeadExtents {
  int64_t batch, heads, rows, size;
};

Result<HeadExtents> ExtentsOf(const ValueType& type, int64_t heads) {
  if (type.dims.size() == 4) return HeadExtents{type.dims[0], type.dims[1], type.dims[2], type.dims[3]};
  if (type.dims.size() != 3) return Error(StatusCode::kModel, "an operand has rank {}", type.dims.size());
  if (heads < 1) return Error(StatusCode::kModel, "an operand of rank 3 needs its number of heads");
  const int64_t hidden = type.dims[2];
  if (hidden >= 0 && hidden % heads != 0)
    return Error(StatusCode::kModel, "{} elements do not divide into {} heads", hidden, heads);
  return HeadExtents{type.dims[0], heads, type.dims[1], hidden < 0 ? kUnknownDim : hidden / heads};
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
  DEPUTY_ASSIGN_OR_RETURN(const HeadExtents queries, ExtentsOf(q, heads));
  DEPUTY_ASSIGN_OR_RETURN(const HeadExtents keys, ExtentsOf(k, key_heads));
  DEPUTY_ASSIGN_OR_RETURN(const HeadExtents values, ExtentsOf(v, key_heads));
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

Status InferRotaryEmbedding(InferenceContext& context) {
  context.SetOutput(0, context.input(0));
  return {};
}

}  // namespace deputy::host
