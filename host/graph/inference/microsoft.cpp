// Inference of the operators of com.microsoft, and of SimplifiedLayerNormalization, which exporters write with them.
// Those that extend another operator call its inference.
#include <algorithm>
#include <array>
#include <initializer_list>
#include <string>

#include "base/checked.hpp"
#include "graph/inference/attention_operands.hpp"
#include "graph/inference/functions.hpp"
#include "graph/inference/operands.hpp"

namespace deputy::host {
namespace {

Status LikeFirst(InferenceContext& context) { return context.Output(context.input(0)); }

// Runs `infer` for a node with these first two inputs instead of its own.
Status InferWith(InferenceContext& context, ValueType first, ValueType second, InferenceFunction infer) {
  std::vector<ValueType> types(std::max<size_t>(2, context.input_count()));
  types[0] = std::move(first);
  types[1] = std::move(second);
  const std::vector<Tensor> nothing_known(types.size());
  InferenceContext inner(context.node(), types, nothing_known);
  DEPUTY_RETURN_IF_ERROR(infer(inner));
  return context.Output(inner.outputs()[0]);
}

// A factor as the product reads it: its first axis moved after the batches, then its last two axes exchanged.
ValueType Turned(ValueType type, bool batches, bool matrix) {
  std::vector<int64_t>& dims = type.dims;
  if (type.ranked && dims.size() > 2 && batches) std::rotate(dims.begin(), dims.begin() + 1, dims.end() - 1);
  if (type.ranked && dims.size() > 1 && matrix) std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
  return type;
}

// Scales and zero points of a quantized operator, each of which is one value.
Status CheckOneValueEach(const InferenceContext& context, std::initializer_list<size_t> inputs) {
  for (const size_t i : inputs) DEPUTY_RETURN_IF_ERROR(CheckOneValue(context, i, std::to_string(i).c_str()));
  return {};
}

// An operator with one input, its scale and zero point, and those of the output.
Status LikeQuantized(InferenceContext& context) {
  DEPUTY_RETURN_IF_ERROR(CheckGiven(context, 3, "y_scale"));
  DEPUTY_RETURN_IF_ERROR(CheckOneValueEach(context, {1, 2, 3, 4}));
  return LikeFirst(context);
}

Status InferTurnedProduct(InferenceContext& context) {
  const auto says = [&](std::string_view name) { return context.primitive().GetInt(name, 0) != 0; };
  return InferWith(context, Turned(context.input(0), says("transBatchA"), says("transA")),
                   Turned(context.input(1), says("transBatchB"), says("transB")), InferMatMul);
}

// A bias, which may be left out, has an element for each of the last axis.
Status LikeBiased(InferenceContext& context) {
  const ValueType& x = context.input(0);
  if (x.ranked && x.dims.empty() && context.has_input(1))
    return Error(StatusCode::kModel, "a scalar cannot have a bias");
  if (x.ranked && !x.dims.empty()) DEPUTY_RETURN_IF_ERROR(CheckShape(context, 1, {x.dims.back()}, "bias"));
  return LikeFirst(context);
}

// The skip may have no batch axis, or one of extent 1; the parameters have an element for each of the last axis.
Status CheckSkip(const InferenceContext& context) {
  const ValueType &x = context.input(0), &skip = context.input(1);
  if (!x.ranked) return {};
  if (x.dims.size() < 2 || x.dims.back() == 0)
    return Error(StatusCode::kModel, "input {} has rank below 2 or is empty", ShapeToString(x.dims));
  std::vector<int64_t> wanted = x.dims;
  if (skip.ranked && skip.dims.size() + 1 == x.dims.size()) wanted.erase(wanted.begin());
  if (skip.ranked && skip.dims.size() == x.dims.size() && skip.dims[0] == 1) wanted[0] = 1;
  if (wanted.size() < 2) return Error(StatusCode::kModel, "skip {} has rank below 2", ShapeToString(skip.dims));
  DEPUTY_RETURN_IF_ERROR(CheckShape(context, 1, wanted, "skip"));
  const bool simplified = context.primitive().kind() == OpKind::kMicrosoft_SkipSimplifiedLayerNormalization;
  static constexpr const char* kNames[] = {"gamma", "beta", "bias"};
  for (size_t i = 2; i < context.input_count(); ++i)
    DEPUTY_RETURN_IF_ERROR(CheckShape(context, i, {x.dims.back()}, kNames[simplified && i == 3 ? 2 : i - 2]));
  return {};
}

// Sums of the inputs, normalized; the last output is the sum itself.
Status InferSkip(InferenceContext& context) {
  const ValueType& x = context.input(0);
  DEPUTY_RETURN_IF_ERROR(CheckSkip(context));
  ValueType statistics{DType::kFloat32, x.ranked, x.dims};
  if (x.ranked && !x.dims.empty()) statistics.dims.back() = 1;
  context.SetOutput(0, x);
  context.SetOutput(1, statistics);
  context.SetOutput(2, statistics);
  context.SetOutput(3, x);
  return {};
}

}  // namespace

Status InferMicrosoft_BiasGelu(InferenceContext& context) { return LikeBiased(context); }
Status InferMicrosoft_DequantizeLinear(InferenceContext& context) { return InferDequantizeLinear(context); }
Status InferMicrosoft_FastGelu(InferenceContext& context) { return LikeBiased(context); }
Status InferMicrosoft_FusedConv(InferenceContext& context) {
  DEPUTY_RETURN_IF_ERROR(InferConv(context));
  const ValueType y = context.outputs()[0];
  return y.ranked ? CheckShape(context, 3, y.dims, "Z") : Status();
}
Status InferMicrosoft_FusedGemm(InferenceContext& context) { return InferGemm(context); }
Status InferMicrosoft_FusedMatMul(InferenceContext& context) { return InferTurnedProduct(context); }
Status InferMicrosoft_Gelu(InferenceContext& context) { return LikeFirst(context); }
Status InferMicrosoft_QLinearLeakyRelu(InferenceContext& context) { return LikeQuantized(context); }
Status InferMicrosoft_QLinearSigmoid(InferenceContext& context) { return LikeQuantized(context); }
Status InferMicrosoft_QLinearSoftmax(InferenceContext& context) {
  const ValueType& x = context.input(0);
  DEPUTY_RETURN_IF_ERROR(CheckGiven(context, 4, "y_zero_point"));
  DEPUTY_RETURN_IF_ERROR(LikeQuantized(context));
  return !x.ranked ? Status() : context.NormalizeAxis(context.primitive().GetInt("axis", -1), x.dims.size()).status();
}
Status InferMicrosoft_QuantizeLinear(InferenceContext& context) { return InferQuantizeLinear(context); }
Status InferMicrosoft_QuickGelu(InferenceContext& context) { return LikeFirst(context); }
Status InferMicrosoft_RotaryEmbedding(InferenceContext& context) {
  DEPUTY_RETURN_IF_ERROR(CheckMicrosoftRotaryOperands(context));
  return LikeFirst(context);
}
Status InferMicrosoft_SkipLayerNormalization(InferenceContext& context) { return InferSkip(context); }
Status InferMicrosoft_SkipSimplifiedLayerNormalization(InferenceContext& context) { return InferSkip(context); }
Status InferMicrosoft_TransposeMatMul(InferenceContext& context) { return InferTurnedProduct(context); }
Status InferSimplifiedLayerNormalization(InferenceContext& context) { return InferRMSNormalization(context); }

Status InferMicrosoft_EmbedLayerNormalization(InferenceContext& context) {
  const ValueType& ids = context.input(0);
  if (!context.has_input(2)) return Error(StatusCode::kModel, "input 'word_embedding' is missing");
  const ValueType& words = context.input(2);
  if ((ids.ranked && ids.dims.size() != 2) || (words.ranked && words.dims.size() != 2))
    return Error(StatusCode::kModel, "input_ids and word_embedding must have rank 2");
  static constexpr const char* kNames[] = {"word_embedding", "position_embedding", "segment_embedding", "gamma",
                                           "beta"};
  const int64_t hidden = DimOf(words, 1);
  if (hidden == 0) return Error(StatusCode::kModel, "word_embedding {} has no columns", ShapeToString(words.dims));
  for (size_t i = 3; i <= 6; ++i) {
    if (i != 4) DEPUTY_RETURN_IF_ERROR(CheckGiven(context, i, kNames[i - 2]));
    DEPUTY_RETURN_IF_ERROR(i < 5 ? CheckShape(context, i, {kUnknownDim, hidden}, kNames[i - 2])
                                 : CheckShape(context, i, {hidden}, kNames[i - 2]));
  }
  DEPUTY_RETURN_IF_ERROR(CheckGivenTogether(context, 1, 4, "segment_ids and segment_embedding"));
  if (ids.ranked) {
    DEPUTY_RETURN_IF_ERROR(CheckShape(context, 1, ids.dims, "segment_ids"));
    DEPUTY_RETURN_IF_ERROR(CheckShape(context, 7, ids.dims, "mask"));
    const bool shared = context.has_input(8) && DimOf(context.input(8), 0) == 1;
    DEPUTY_RETURN_IF_ERROR(CheckShape(context, 8, {shared ? 1 : ids.dims[0], ids.dims[1]}, "position_ids"));
  }
  std::vector<int64_t> dims = UnknownDims(3);
  if (ids.ranked) std::copy(ids.dims.begin(), ids.dims.end(), dims.begin());
  if (words.ranked) dims[2] = words.dims[1];
  context.SetOutput(1, DType::kInt32, {dims[0]});
  context.SetOutput(2, words.dtype, dims);
  return context.Output(words.dtype, std::move(dims));
}

namespace {

// B is in blocks of `block_size` numbers of each column, with a scale, and perhaps a zero point, for each block.
Status CheckBlocks(const InferenceContext& context, int64_t rows, int64_t columns) {
  constexpr int64_t kMost = int64_t{1} << 31;
  const int64_t block = context.primitive().GetInt("block_size", 0), bits = context.primitive().GetInt("bits", 4);
  if (rows > kMost || columns > kMost || block > kMost || block < 16 || (block & (block - 1)) != 0)
    return Error(StatusCode::kModel, "K {}, N {} and block_size {} must be 1 to 2^31, block_size a power of 2 from 16",
                 rows, columns, block);
  DEPUTY_RETURN_IF_ERROR(CheckElements(context, 5, columns, "bias"));
  if (bits != 2 && bits != 4 && bits != 8) return {};  // how others are packed is the delegate's
  const int64_t blocks = (rows + block - 1) / block, column_bytes = blocks * (block * bits / 8);
  const auto times = [columns](int64_t count) { return CheckedMultiply(columns, count).value_or(kUnknownDim); };
  DEPUTY_RETURN_IF_ERROR(CheckElements(context, 1, times(column_bytes), "B"));
  DEPUTY_RETURN_IF_ERROR(CheckElements(context, 2, times(blocks), "scales"));
  if (!context.has_input(3) || context.input(3).dtype == DType::kUndefined) return {};
  const bool packed = context.input(3).dtype == DType::kUint8;
  return CheckElements(context, 3, times(packed ? (blocks * bits + 7) / 8 : blocks), "zero_points");
}

}  // namespace

Status InferMicrosoft_MatMulNBits(InferenceContext& context) {
  ValueType type = context.input(0);
  const int64_t rows = context.primitive().GetInt("K", 0), columns = context.primitive().GetInt("N", 0);
  if (rows < 1 || columns < 1)
    return Error(StatusCode::kModel, "K and N must be at least 1, got {} and {}", rows, columns);
  if (type.ranked && type.dims.empty()) return Error(StatusCode::kModel, "A must have at least rank 1, got a scalar");
  if (type.ranked && !MergeDim(type.dims.back(), rows).ok())
    return Error(StatusCode::kModel, "the last extent of A is {}, expected K ({})", type.dims.back(), rows);
  const ValueType& packed = context.input(1);
  const bool by_column = packed.ranked && packed.dims.size() > 1, flat = packed.ranked && packed.dims.size() == 1;
  if ((by_column && !MergeDim(packed.dims[0], columns).ok()) ||
      (flat && packed.dims[0] >= 0 && packed.dims[0] < columns))
    return Error(StatusCode::kModel, "N ({}) does not match B with shape {}", columns, ShapeToString(packed.dims));
  DEPUTY_RETURN_IF_ERROR(CheckBlocks(context, rows, columns));
  if (type.ranked) type.dims.back() = columns;
  return context.Output(std::move(type));
}

Status InferMicrosoft_MatMulIntegerToFloat(InferenceContext& context) {
  const ValueType& b = context.input(1);
  const int64_t columns = b.ranked && !b.dims.empty() ? b.dims.back() : kUnknownDim;
  DEPUTY_RETURN_IF_ERROR(CheckOneValue(context, 2, "a_scale"));
  DEPUTY_RETURN_IF_ERROR(CheckOneOrEach(context, 3, columns, "b_scale"));
  DEPUTY_RETURN_IF_ERROR(CheckOneValue(context, 4, "a_zero_point"));
  DEPUTY_RETURN_IF_ERROR(CheckOneOrEach(context, 5, columns, "b_zero_point"));
  if (columns >= 0) DEPUTY_RETURN_IF_ERROR(CheckElements(context, 6, columns, "bias"));
  return InferAs(context, 0, 1, InferMatMul, context.input(2).dtype);
}
Status InferMicrosoft_DynamicQuantizeMatMul(InferenceContext& context) {
  const ValueType& b = context.input(1);
  const int64_t columns = b.ranked && !b.dims.empty() ? b.dims.back() : kUnknownDim;
  DEPUTY_RETURN_IF_ERROR(CheckOneOrEach(context, 2, columns, "b_scale"));
  DEPUTY_RETURN_IF_ERROR(CheckOneOrEach(context, 3, columns, "b_zero_point"));
  if (columns >= 0) DEPUTY_RETURN_IF_ERROR(CheckElements(context, 4, columns, "bias"));
  return InferAs(context, 0, 1, InferMatMul, DType::kFloat32);
}

Status InferMicrosoft_QGemm(InferenceContext& context) {
  const ValueType &a = context.input(0), &b = context.input(3);
  const bool turn_a = context.primitive().GetInt("transA", 0) != 0;
  const bool turn_b = context.primitive().GetInt("transB", 0) != 0;
  for (const ValueType* type : {&a, &b})
    if (type->ranked && type->dims.size() != 2)
      return Error(StatusCode::kModel, "A and B must have rank 2, got rank {}", type->dims.size());
  const auto extent = [](const ValueType& type, size_t axis) { return type.ranked ? type.dims[axis] : kUnknownDim; };
  if (!MergeDim(extent(a, turn_a ? 0 : 1), extent(b, turn_b ? 1 : 0)).ok())
    return Error(StatusCode::kModel, "shapes {} and {} are incompatible for matrix multiplication",
                 ShapeToString(a.dims), ShapeToString(b.dims));
  DEPUTY_RETURN_IF_ERROR(CheckOneValueEach(context, {1, 2, 7, 8}));
  const int64_t columns = extent(b, turn_b ? 0 : 1);
  DEPUTY_RETURN_IF_ERROR(CheckOneOrEach(context, 4, columns, "b_scale"));
  DEPUTY_RETURN_IF_ERROR(CheckOneOrEach(context, 5, columns, "b_zero_point"));
  DEPUTY_RETURN_IF_ERROR(CheckBroadcastsTo(context, 6, std::array{extent(a, turn_a ? 1 : 0), columns}, "C"));
  const DType dtype = !context.has_input(7) ? DType::kFloat32 : context.has_input(8) ? context.input(8).dtype : a.dtype;
  return context.Output(dtype, {extent(a, turn_a ? 1 : 0), columns});
}

namespace {

Status InferQuantizedPair(InferenceContext& context) {
  DEPUTY_RETURN_IF_ERROR(CheckGiven(context, 3, "B"));
  DEPUTY_RETURN_IF_ERROR(CheckGiven(context, 4, "B_scale"));
  DEPUTY_RETURN_IF_ERROR(CheckGiven(context, 6, "C_scale"));
  DEPUTY_RETURN_IF_ERROR(CheckOneValueEach(context, {1, 2, 4, 5, 6, 7}));
  const ValueType &a = context.input(0), &b = context.input(3);
  if (!a.ranked || !b.ranked) return context.OutputUnranked(a.dtype);
  DEPUTY_ASSIGN_OR_RETURN(std::vector<int64_t> dims, BroadcastDims(a.dims, b.dims));
  return context.Output(a.dtype, std::move(dims));
}

// A pool whose channels may be the last axis.
Status InferQuantizedPool(InferenceContext& context, InferenceFunction infer) {
  DEPUTY_RETURN_IF_ERROR(CheckGiven(context, 3, "y_scale"));
  DEPUTY_RETURN_IF_ERROR(CheckOneValueEach(context, {1, 2, 3, 4}));
  const bool last = context.primitive().GetInt("channels_last", 0) != 0;
  ValueType x = context.input(0);
  if (last && x.ranked && x.dims.size() > 2) std::rotate(x.dims.begin() + 1, x.dims.end() - 1, x.dims.end());
  DEPUTY_RETURN_IF_ERROR(InferWith(context, std::move(x), {}, infer));
  ValueType y = context.outputs()[0];
  if (last && y.ranked && y.dims.size() > 2) std::rotate(y.dims.begin() + 1, y.dims.begin() + 2, y.dims.end());
  return context.Output(std::move(y));
}

}  // namespace

Status InferMicrosoft_QLinearAdd(InferenceContext& context) { return InferQuantizedPair(context); }
Status InferMicrosoft_QLinearMul(InferenceContext& context) { return InferQuantizedPair(context); }
Status InferMicrosoft_QLinearAveragePool(InferenceContext& context) {
  return InferQuantizedPool(context, InferAveragePool);
}
Status InferMicrosoft_QLinearGlobalAveragePool(InferenceContext& context) {
  return InferQuantizedPool(context, InferGlobalAveragePool);
}

Status InferMicrosoft_QLinearConcat(InferenceContext& context) {
  if (context.input_count() % 3 != 2)
    return Error(StatusCode::kModel, "each tensor needs a scale and a zero point, got {} inputs",
                 context.input_count());
  const DType dtype = context.input(1).dtype;
  DEPUTY_RETURN_IF_ERROR(CheckOneValueEach(context, {0, 1}));
  for (size_t i = 2; i < context.input_count(); ++i) {
    const bool is_scale = i % 3 == 0;
    const DType expected = is_scale ? DType::kFloat32 : dtype, got = context.input(i).dtype;
    if (got != expected && got != DType::kUndefined && expected != DType::kUndefined)
      return Error(StatusCode::kModel, "input {} has element type {}, expected {}", i, NameOf(got), NameOf(expected));
    if (i % 3 != 2) DEPUTY_RETURN_IF_ERROR(CheckOneValueEach(context, {i}));
  }
  ValueType joined{dtype, false, {}};
  for (size_t i = 2; i < context.input_count(); i += 3) {
    const ValueType& part = context.input(i);
    if (!part.ranked) return context.OutputUnranked(dtype);
    DEPUTY_ASSIGN_OR_RETURN(const size_t axis,
                            context.NormalizeAxis(context.primitive().GetInt("axis", 0), part.dims.size()));
    if (i == 2) {
      joined = {dtype, true, part.dims};
      continue;
    }
    if (part.dims.size() != joined.dims.size())
      return Error(StatusCode::kModel, "shapes {} and {} cannot be concatenated", ShapeToString(joined.dims),
                   ShapeToString(part.dims));
    for (size_t d = 0; d < part.dims.size(); ++d) {
      if (d != axis) {
        DEPUTY_ASSIGN_OR_RETURN(joined.dims[d], MergeDim(joined.dims[d], part.dims[d]));
      } else {
        const bool known = joined.dims[d] >= 0 && part.dims[d] >= 0;
        if (!known)
          joined.dims[d] = kUnknownDim;
        else if (__builtin_add_overflow(joined.dims[d], part.dims[d], &joined.dims[d]))
          return Error(StatusCode::kModel, "the concatenated extent of axis {} overflows", d);
      }
    }
  }
  return context.Output(std::move(joined));
}

}  // namespace deputy::host
