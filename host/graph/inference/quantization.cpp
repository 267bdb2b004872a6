// Inference of quantization and dequantization, and of the products of quantized integers.
#include "graph/inference/functions.hpp"
#include "tensor/scale_layout.hpp"

namespace deputy::host {
namespace {

// The element type that an attribute names; fails for one that Deputy's tensors do not have.
Result<DType> TypeFromAttribute(const InferenceContext& context, std::string_view name, DType fallback) {
  const int64_t number = context.primitive().GetInt(name, 0);
  if (number == 0) return fallback;
  const DType dtype = static_cast<DType>(number);
  if (number < 0 || number > 31 || BitsOf(dtype) == 0)
    return Error(StatusCode::kNotSupported, "{} {} is not a supported element type", name, number);
  return dtype;
}

Status CheckScale(const InferenceContext& context) {
  const ValueType &x = context.input(0), &scale = context.input(1);
  DEPUTY_RETURN_IF_ERROR(DimProduct(x.dims).status());
  for (size_t i = 1; i < context.input_count(); ++i) DEPUTY_RETURN_IF_ERROR(DimProduct(context.input(i).dims).status());
  if (context.has_input(2)) {
    const ValueType& zero_point = context.input(2);
    if (scale.ranked && zero_point.ranked && scale.is_static() && zero_point.is_static() &&
        ElementCount(scale.dims) != ElementCount(zero_point.dims))
      return Error(StatusCode::kModel, "scale with shape {} and zero_point with shape {} must have the same shape",
                   ShapeToString(scale.dims), ShapeToString(zero_point.dims));
  }
  if (!x.is_static() || !scale.is_static()) return {};
  return LayOutScales(x.dims, scale.dims, context.primitive().GetInt("axis", 1),
                      context.primitive().GetInt("block_size", 0))
      .status();
}

}  // namespace

Status InferQuantizeLinear(InferenceContext& context) {
  DEPUTY_RETURN_IF_ERROR(CheckScale(context));
  DType dtype = DType::kUint8;
  if (context.has_input(2)) {
    dtype = context.input(2).dtype;
  } else {
    DEPUTY_ASSIGN_OR_RETURN(dtype, TypeFromAttribute(context, "output_dtype", DType::kUint8));
  }
  return LikeInput(context, dtype);
}

Status InferDequantizeLinear(InferenceContext& context) {
  DEPUTY_RETURN_IF_ERROR(CheckScale(context));
  DEPUTY_ASSIGN_OR_RETURN(const DType dtype, TypeFromAttribute(context, "output_dtype", context.input(1).dtype));
  return LikeInput(context, dtype);
}

Status InferDynamicQuantizeLinear(InferenceContext& context) {
  context.SetOutput(1, DType::kFloat32, {});
  context.SetOutput(2, DType::kUint8, {});
  return LikeInput(context, DType::kUint8);
}

Status InferConvInteger(InferenceContext& context) { return InferAs(context, 0, 1, InferConv, DType::kInt32); }
Status InferMatMulInteger(InferenceContext& context) { return InferAs(context, 0, 1, InferMatMul, DType::kInt32); }
Status InferQLinearConv(InferenceContext& context) { return InferAs(context, 0, 3, InferConv, context.input(7).dtype); }
Status InferQLinearMatMul(InferenceContext& context) {
  return InferAs(context, 0, 3, InferMatMul, context.input(7).dtype);
}

}  // namespace deputy::host
