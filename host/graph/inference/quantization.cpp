// Inference of quantization and dequantization, and of the products of quantized integers.
#include <algorithm>
#include <string>

#include "graph/inference/functions.hpp"
#include "graph/inference/operands.hpp"
#include "tensor/scale_layout.hpp"

namespace deputy::host {
namespace {

// The element type that an attribute names; fails for one that Deputy's tensors do not have.
Result<DType> TypeFromAttribute(const InferenceContext& context, std::string_view name, DType fallback) {
  const int64_t number = context.primitive().GetInt(name, 0);
  if (number == 0) return fallback;
  const DType dtype = static_cast<DType>(number);
  if (number < 0 || number > 31 || BitsOf(dtype) == 0) return UnsupportedElementType(name, number);
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
  DEPUTY_ASSIGN_OR_RETURN(const DType precision, TypeFromAttribute(context, "precision", DType::kUndefined));
  constexpr DTypeSet kPrecisions = Bit(DType::kUndefined) | Bit(DType::kFloat16) | Bit(DType::kBFloat16) |
                                   Bit(DType::kFloat32) | Bit(DType::kFloat64);
  if ((kPrecisions & Bit(precision)) == 0)
    return Error(StatusCode::kModel, "attribute 'precision' is {}, which is no floating-point type", NameOf(precision));
  DEPUTY_ASSIGN_OR_RETURN(const DType wanted, TypeFromAttribute(context, "output_dtype", DType::kUndefined));
  if (!context.has_input(2)) return LikeInput(context, wanted == DType::kUndefined ? DType::kUint8 : wanted);
  const DType dtype = context.input(2).dtype;
  if (wanted != DType::kUndefined && dtype != DType::kUndefined && wanted != dtype)
    return Error(StatusCode::kModel, "attribute 'output_dtype' is {}, but y_zero_point is {}", NameOf(wanted),
                 NameOf(dtype));
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

Status CheckOneOrEach(const InferenceContext& context, size_t i, int64_t count, const char* name) {
  if (!context.has_input(i) || !context.input(i).ranked) return {};
  const std::vector<int64_t>& dims = context.input(i).dims;
  if (dims.empty() || (dims.size() == 1 && (dims[0] < 0 || dims[0] == 1 || count < 0 || dims[0] == count))) return {};
  if (count == 1)
    return Error(StatusCode::kModel, "input '{}' has shape {}, expected one value", name, ShapeToString(dims));
  return Error(StatusCode::kModel, "input '{}' has shape {}, expected one value, or a list of {}", name,
               ShapeToString(dims), count < 0 ? "one for each channel" : std::to_string(count));
}

Status CheckOneValue(const InferenceContext& context, size_t i, const char* name) {
  return CheckOneOrEach(context, i, 1, name);
}

namespace {

// A scale or zero point of a factor of a matrix product: one value, one for each row of the left or column of the right
// factor, or those of each matrix of a batch.
Status CheckOfMatrix(const InferenceContext& context, size_t i, const ValueType& matrix, bool columns,
                     const char* name) {
  if (!context.has_input(i) || !context.input(i).ranked || !matrix.ranked) return {};
  const std::vector<int64_t>& dims = context.input(i).dims;
  const size_t rank = matrix.dims.size();
  if (rank >= 2 && dims.size() == rank) {
    std::vector<int64_t> expected = matrix.dims;
    expected[columns ? rank - 2 : rank - 1] = 1;
    const bool fits = std::equal(dims.begin(), dims.end(), expected.begin(),
                                 [](int64_t a, int64_t b) { return a < 0 || b < 0 || a == b; });
    if (fits || (DimProduct(dims).ok() && *DimProduct(dims) == 1)) return {};
    return Error(StatusCode::kModel, "input '{}' has shape {}, expected {}", name, ShapeToString(dims),
                 ShapeToString(expected));
  }
  const int64_t count = rank == 0 ? 1 : matrix.dims[columns || rank == 1 ? rank - 1 : rank - 2];
  return CheckOneOrEach(context, i, count, name);
}

}  // namespace

Status InferConvInteger(InferenceContext& context) {
  DEPUTY_RETURN_IF_ERROR(CheckOneValue(context, 2, "x_zero_point"));
  DEPUTY_RETURN_IF_ERROR(CheckOneOrEach(context, 3, DimOf(context.input(1), 0), "w_zero_point"));
  return InferAs(context, 0, 1, InferConv, DType::kInt32);
}

Status InferMatMulInteger(InferenceContext& context) {
  DEPUTY_RETURN_IF_ERROR(CheckOfMatrix(context, 2, context.input(0), false, "a_zero_point"));
  DEPUTY_RETURN_IF_ERROR(CheckOfMatrix(context, 3, context.input(1), true, "b_zero_point"));
  return InferAs(context, 0, 1, InferMatMul, DType::kInt32);
}

Status InferQLinearConv(InferenceContext& context) {
  const int64_t channels = DimOf(context.input(3), 0);
  DEPUTY_RETURN_IF_ERROR(CheckOneValue(context, 1, "x_scale"));
  DEPUTY_RETURN_IF_ERROR(CheckOneValue(context, 2, "x_zero_point"));
  DEPUTY_RETURN_IF_ERROR(CheckOneOrEach(context, 4, channels, "w_scale"));
  DEPUTY_RETURN_IF_ERROR(CheckOneOrEach(context, 5, channels, "w_zero_point"));
  DEPUTY_RETURN_IF_ERROR(CheckOneValue(context, 6, "y_scale"));
  DEPUTY_RETURN_IF_ERROR(CheckOneValue(context, 7, "y_zero_point"));
  if (context.has_input(8) && context.input(8).ranked) {
    const std::vector<int64_t>& bias = context.input(8).dims;
    if (bias.size() != 1 || (bias[0] >= 0 && channels >= 0 && bias[0] != channels))
      return Error(StatusCode::kModel, "input 'B' has shape {}, expected a value for each channel",
                   ShapeToString(bias));
  }
  return InferAs(context, 0, 3, InferConv, context.input(7).dtype);
}

Status InferQLinearMatMul(InferenceContext& context) {
  const ValueType &a = context.input(0), &b = context.input(3);
  DEPUTY_RETURN_IF_ERROR(CheckOfMatrix(context, 1, a, false, "a_scale"));
  DEPUTY_RETURN_IF_ERROR(CheckOfMatrix(context, 2, a, false, "a_zero_point"));
  DEPUTY_RETURN_IF_ERROR(CheckOfMatrix(context, 4, b, true, "b_scale"));
  DEPUTY_RETURN_IF_ERROR(CheckOfMatrix(context, 5, b, true, "b_zero_point"));
  DEPUTY_RETURN_IF_ERROR(InferAs(context, 0, 3, InferMatMul, context.input(7).dtype));
  const ValueType y = context.outputs()[0];
  DEPUTY_RETURN_IF_ERROR(CheckOfMatrix(context, 6, y, false, "y_scale"));
  return CheckOfMatrix(context, 7, y, false, "y_zero_point");
}

}  // namespace deputy::host
