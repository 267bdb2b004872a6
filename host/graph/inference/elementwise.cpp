// Inference of elementwise operators: the output has the extents of the input, or those that all inputs broadcast to.
#include <algorithm>

#include "graph/inference/functions.hpp"
#include "graph/inference/operands.hpp"

namespace deputy::host {
namespace {

// The inputs [first, input_count()) have one element type; fails when two known ones differ.
Result<DType> CommonType(const InferenceContext& context, size_t first) {
  DType common = DType::kUndefined;
  for (size_t i = first; i < context.input_count(); ++i) {
    const DType dtype = context.input(i).dtype;
    if (!context.has_input(i) || dtype == DType::kUndefined || dtype == common) continue;
    if (common != DType::kUndefined)
      return Error(StatusCode::kModel, "inputs must have the same dtype, got {} and {}", NameOf(common), NameOf(dtype));
    common = dtype;
  }
  return common;
}

Status BroadcastInputs(InferenceContext& context, DType dtype) {
  std::vector<int64_t> dims;
  for (size_t i = 0; i < context.input_count(); ++i) {
    if (!context.has_input(i)) return Error(StatusCode::kModel, "input {} is missing", i);
    const ValueType& input = context.input(i);
    if (!input.ranked) return context.OutputUnranked(dtype);
    if (i == 0) {
      dims = input.dims;
    } else {
      DEPUTY_ASSIGN_OR_RETURN(dims, BroadcastDims(dims, input.dims));
    }
  }
  return context.Output(dtype, std::move(dims));
}

Status InferArithmetic(InferenceContext& context) {
  DEPUTY_ASSIGN_OR_RETURN(const DType dtype, CommonType(context, 0));
  return BroadcastInputs(context, dtype);
}

// Definition 8 added broadcasting; before, the operands have one shape.
Status InferVariadic(InferenceContext& context) {
  const Primitive& primitive = context.primitive();
  for (size_t i = 1; i < context.input_count() && primitive.since_version() < 8; ++i) {
    const ValueType &first = context.input(0), &input = context.input(i);
    if (!first.ranked || !input.ranked) continue;
    if (!std::equal(first.dims.begin(), first.dims.end(), input.dims.begin(), input.dims.end(), MayEqual))
      return Error(StatusCode::kModel, "operands must have one shape before {}-8, got {} and {}", primitive.op_type(),
                   ShapeToString(first.dims), ShapeToString(input.dims));
  }
  return InferArithmetic(context);
}

Status InferComparison(InferenceContext& context) {
  DEPUTY_RETURN_IF_ERROR(CommonType(context, 0).status());
  return BroadcastInputs(context, DType::kBool);
}

Status InferSame(InferenceContext& context) { return LikeInput(context, context.input(0).dtype); }

Status InferPredicate(InferenceContext& context) { return LikeInput(context, DType::kBool); }

}  // namespace

#define DEPUTY_INFER_AS(function, name) \
  Status Infer##name(InferenceContext& context) { return function(context); }
DEPUTY_INFER_AS(InferSame, Abs)
DEPUTY_INFER_AS(InferSame, Acos)
DEPUTY_INFER_AS(InferSame, Acosh)
DEPUTY_INFER_AS(InferSame, Affine)
DEPUTY_INFER_AS(InferSame, Asin)
DEPUTY_INFER_AS(InferSame, Asinh)
DEPUTY_INFER_AS(InferSame, Atan)
DEPUTY_INFER_AS(InferSame, Atanh)
DEPUTY_INFER_AS(InferSame, BitwiseNot)
DEPUTY_INFER_AS(InferSame, Ceil)
DEPUTY_INFER_AS(InferSame, Celu)
DEPUTY_INFER_AS(InferSame, Cos)
DEPUTY_INFER_AS(InferSame, Cosh)
DEPUTY_INFER_AS(InferSame, Elu)
DEPUTY_INFER_AS(InferSame, Erf)
DEPUTY_INFER_AS(InferSame, Exp)
DEPUTY_INFER_AS(InferSame, Floor)
DEPUTY_INFER_AS(InferSame, Gelu)
DEPUTY_INFER_AS(InferSame, HardSigmoid)
DEPUTY_INFER_AS(InferSame, HardSwish)
DEPUTY_INFER_AS(InferSame, Identity)
DEPUTY_INFER_AS(InferSame, LeakyRelu)
DEPUTY_INFER_AS(InferSame, Log)
DEPUTY_INFER_AS(InferSame, Mish)
DEPUTY_INFER_AS(InferSame, Neg)
DEPUTY_INFER_AS(InferSame, Not)
DEPUTY_INFER_AS(InferSame, ParametricSoftplus)
DEPUTY_INFER_AS(InferSame, Scale)
DEPUTY_INFER_AS(InferSame, ScaledTanh)
DEPUTY_INFER_AS(InferSame, Reciprocal)
DEPUTY_INFER_AS(InferSame, Relu)
DEPUTY_INFER_AS(InferSame, Round)
DEPUTY_INFER_AS(InferSame, Selu)
DEPUTY_INFER_AS(InferSame, Shrink)
DEPUTY_INFER_AS(InferSame, Sigmoid)
DEPUTY_INFER_AS(InferSame, Sign)
DEPUTY_INFER_AS(InferSame, Sin)
DEPUTY_INFER_AS(InferSame, Sinh)
DEPUTY_INFER_AS(InferSame, Softplus)
DEPUTY_INFER_AS(InferSame, Softsign)
DEPUTY_INFER_AS(InferSame, Sqrt)
DEPUTY_INFER_AS(InferSame, Swish)
DEPUTY_INFER_AS(InferSame, Tan)
DEPUTY_INFER_AS(InferSame, Tanh)
DEPUTY_INFER_AS(InferSame, ThresholdedRelu)
DEPUTY_INFER_AS(InferPredicate, IsInf)
DEPUTY_INFER_AS(InferPredicate, IsNaN)
DEPUTY_INFER_AS(InferArithmetic, Add)
DEPUTY_INFER_AS(InferArithmetic, And)
DEPUTY_INFER_AS(InferArithmetic, BitShift)
DEPUTY_INFER_AS(InferArithmetic, BitwiseAnd)
DEPUTY_INFER_AS(InferArithmetic, BitwiseOr)
DEPUTY_INFER_AS(InferArithmetic, BitwiseXor)
DEPUTY_INFER_AS(InferArithmetic, Div)
DEPUTY_INFER_AS(InferVariadic, Max)
DEPUTY_INFER_AS(InferVariadic, Mean)
DEPUTY_INFER_AS(InferVariadic, Min)
DEPUTY_INFER_AS(InferArithmetic, Mod)
DEPUTY_INFER_AS(InferArithmetic, Mul)
DEPUTY_INFER_AS(InferArithmetic, Or)
DEPUTY_INFER_AS(InferArithmetic, Sub)
DEPUTY_INFER_AS(InferVariadic, Sum)
DEPUTY_INFER_AS(InferArithmetic, Xor)
DEPUTY_INFER_AS(InferComparison, Equal)
DEPUTY_INFER_AS(InferComparison, Greater)
DEPUTY_INFER_AS(InferComparison, GreaterOrEqual)
DEPUTY_INFER_AS(InferComparison, Less)
DEPUTY_INFER_AS(InferComparison, LessOrEqual)
#undef DEPUTY_INFER_AS

Status InferClip(InferenceContext& context) {
  DEPUTY_RETURN_IF_ERROR(CheckOneElement(context, 1, "min"));
  DEPUTY_RETURN_IF_ERROR(CheckOneElement(context, 2, "max"));
  return InferSame(context);
}

// The exponent may have a different type.
Status InferPow(InferenceContext& context) { return BroadcastInputs(context, context.input(0).dtype); }

// The slope broadcasts to the input, never the other way.
Status InferPRelu(InferenceContext& context) {
  DEPUTY_ASSIGN_OR_RETURN(const DType dtype, CommonType(context, 0));
  const ValueType &input = context.input(0), &slope = context.input(1);
  if (input.ranked && slope.ranked) {
    const Result<std::vector<int64_t>> joint = BroadcastDims(input.dims, slope.dims);
    bool fits = joint.ok() && joint->size() == input.dims.size();
    for (size_t i = 0; fits && i < input.dims.size(); ++i)
      fits = input.dims[i] < 0 || (*joint)[i] < 0 || (*joint)[i] == input.dims[i];
    if (!fits)
      return Error(StatusCode::kModel, "slope with shape {} cannot be broadcast to shape {}", ShapeToString(slope.dims),
                   ShapeToString(input.dims));
  }
  return LikeInput(context, dtype);
}

Status InferWhere(InferenceContext& context) {
  if (context.input(0).dtype != DType::kBool && context.input(0).dtype != DType::kUndefined)
    return Error(StatusCode::kModel, "condition has dtype {}, expected bool", NameOf(context.input(0).dtype));
  DEPUTY_ASSIGN_OR_RETURN(const DType dtype, CommonType(context, 1));
  return BroadcastInputs(context, dtype);
}

Status InferCast(InferenceContext& context) {
  const int64_t to = context.primitive().GetInt("to", 0);
  const DType dtype = to >= 0 && to <= INT32_MAX ? static_cast<DType>(to) : DType::kUndefined;
  if (BitsOf(dtype) == 0 && dtype != DType::kString) return UnsupportedElementType("to", to);
  return LikeInput(context, dtype);
}

Status InferBitCast(InferenceContext& context) {
  const int64_t to = context.primitive().GetInt("to", 0);
  const DType from = context.input(0).dtype;
  const DType dtype = to >= 0 && to <= INT32_MAX ? static_cast<DType>(to) : DType::kUndefined;
  if (BitsOf(dtype) == 0) return UnsupportedElementType("to", to);
  if (from != DType::kUndefined && BitsOf(from) != BitsOf(dtype))
    return Error(StatusCode::kModel, "elements of {} have {} bits and those of {} have {}, expected the same number",
                 NameOf(from), BitsOf(from), NameOf(dtype), BitsOf(dtype));
  return LikeInput(context, dtype);
}

// Both inputs have the shape of the output: nothing is broadcast.
Status InferSwiGLU(InferenceContext& context) {
  DEPUTY_ASSIGN_OR_RETURN(const DType dtype, CommonType(context, 0));
  const ValueType &gate = context.input(0), &linear = context.input(1);
  if (!gate.ranked || !linear.ranked) return LikeInput(context, dtype);
  bool same = gate.dims.size() == linear.dims.size();
  for (size_t i = 0; same && i < gate.dims.size(); ++i) same = MergeDim(gate.dims[i], linear.dims[i]).ok();
  if (!same)
    return Error(StatusCode::kModel, "inputs of shapes {} and {} must have the same shape", ShapeToString(gate.dims),
                 ShapeToString(linear.dims));
  std::vector<int64_t> dims;
  for (size_t i = 0; i < gate.dims.size(); ++i) {
    DEPUTY_ASSIGN_OR_RETURN(const int64_t dim, MergeDim(gate.dims[i], linear.dims[i]));
    dims.push_back(dim);
  }
  return context.Output(dtype, std::move(dims));
}

Status InferCastLike(InferenceContext& context) {
  if (!context.has_input(1)) return Error(StatusCode::kModel, "input 'target_type' is missing");
  return LikeInput(context, context.input(1).dtype);
}

Status InferDropout(InferenceContext& context) {
  context.SetOutput(0, context.input(0));
  ValueType mask = context.input(0);
  mask.dtype = DType::kBool;
  context.SetOutput(1, std::move(mask));
  return {};
}

}  // namespace deputy::host
