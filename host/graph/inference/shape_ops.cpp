// Inference of the operators that read shapes or change them: Reshape, Flatten, Squeeze, Unsqueeze, Expand, Shape,
// Size, and those that make tensors from shapes and scalars.
#include <algorithm>

#include "base/checked.hpp"
#include "graph/inference/functions.hpp"
#include "graph/inference/operands.hpp"
#include "graph/inference/slicing.hpp"

namespace deputy::host {
namespace {

std::string TargetText(std::span<const PartialInt> target) {
  std::string text = "[";
  for (size_t i = 0; i < target.size(); ++i)
    text += (i == 0 ? "" : ",") + (target[i].known ? std::to_string(target[i].value) : std::string("?"));
  return text + "]";
}

Status CannotReshape(std::span<const int64_t> dims, std::span<const PartialInt> target) {
  const std::optional<int64_t> count = IsStatic(dims) ? CheckedElementCount(dims) : std::nullopt;
  return Error(StatusCode::kModel, "cannot reshape {}{} to {}", ShapeToString(dims),
               count ? fmt::format(" ({} elements)", *count) : std::string(), TargetText(target));
}

// The target of a Reshape with its zeros copied. `rest_in` and `rest_out` hold the extents that copying has not
// matched.
struct ReshapePlan {
  std::vector<int64_t> dims;
  std::vector<int64_t> rest_in, rest_out;
  std::optional<size_t> computed;  // position of the -1
  bool empties = false;            // an extent that is copied is 0, or could be: then the others may be anything
};

Result<ReshapePlan> PlanReshape(const ValueType& input, std::span<const PartialInt> target, bool allow_zero) {
  ReshapePlan plan;
  std::vector<bool> copied(input.dims.size(), false);
  bool explicit_zero = false;
  for (size_t i = 0; i < target.size(); ++i) {
    const PartialInt extent = target[i];
    if (extent.known && extent.value < -1)
      return Error(StatusCode::kModel, "cannot reshape to {}: negative extent", TargetText(target));
    if (extent == KnownInt(-1)) {
      if (plan.computed)
        return Error(StatusCode::kModel, "cannot reshape to {}: at most one extent can be -1", TargetText(target));
      plan.computed = i;
      plan.dims.push_back(kUnknownDim);
    } else if (extent == KnownInt(0) && !allow_zero) {
      if (input.ranked && i >= input.dims.size())
        return Error(StatusCode::kModel, "cannot reshape {} to {}: a 0 at index {} exceeds the input rank",
                     ShapeToString(input.dims), TargetText(target), i);
      plan.dims.push_back(input.ranked ? input.dims[i] : kUnknownDim);
      if (input.ranked) copied[i] = true;
      plan.empties = plan.empties || plan.dims.back() <= 0;
    } else {
      explicit_zero = explicit_zero || extent == KnownInt(0);
      plan.dims.push_back(extent.dim());
      plan.rest_out.push_back(extent.dim());
    }
  }
  if (explicit_zero && plan.computed)
    return Error(StatusCode::kModel, "cannot reshape to {}: -1 and 0 cannot be combined when allowzero is set",
                 TargetText(target));
  for (size_t i = 0; i < input.dims.size(); ++i)
    if (!copied[i]) plan.rest_in.push_back(input.dims[i]);
  // A symbol is the same number on both sides.
  for (size_t i = plan.rest_out.size(); i-- > 0;) {
    if (!IsSymbol(plan.rest_out[i])) continue;
    const auto duplicate = std::find(plan.rest_in.begin(), plan.rest_in.end(), plan.rest_out[i]);
    if (duplicate == plan.rest_in.end()) continue;
    plan.rest_in.erase(duplicate);
    plan.rest_out.erase(plan.rest_out.begin() + static_cast<ptrdiff_t>(i));
  }
  return plan;
}

// The remaining extent when `in` elements are spread over the others, of which `out` is the product; empty when they do
// not fit.
std::optional<int64_t> RestOf(std::span<const int64_t> rest_in, int64_t in, int64_t out) {
  if (out == 0) return std::nullopt;
  if (out < 0) return kUnknownDim;
  if (in >= 0) return in % out == 0 ? std::optional<int64_t>(in / out) : std::nullopt;
  if (out == 1) return in;
  // 4·N to [4,-1]: the known parts cancel and the symbol remains.
  std::vector<int64_t> open;
  int64_t known = 1;
  for (const int64_t dim : rest_in) {
    if (dim < 0) open.push_back(dim);
    if (dim >= 0) known *= dim;
  }
  return open.size() == 1 && known == out ? open[0] : kUnknownDim;
}

// Fills in the extent that is -1, or the only one that is not known.
Status CompleteReshape(const ValueType& input, std::span<const PartialInt> target, ReshapePlan& plan) {
  DEPUTY_ASSIGN_OR_RETURN(const int64_t in, DimProduct(plan.rest_in));
  if (plan.computed) {
    DEPUTY_ASSIGN_OR_RETURN(const int64_t out, DimProduct(plan.rest_out));
    const std::optional<int64_t> rest = RestOf(plan.rest_in, in, out);
    if (!rest) return CannotReshape(input.dims, target);
    plan.dims[*plan.computed] = *rest;
    return {};
  }
  const auto open = std::find(plan.rest_out.begin(), plan.rest_out.end(), kUnknownDim);
  if (open == plan.rest_out.end()) {
    DEPUTY_ASSIGN_OR_RETURN(const int64_t out, DimProduct(plan.rest_out));
    if (in >= 0 && out >= 0 && in != out && !plan.empties && IsStatic(input.dims))
      return CannotReshape(input.dims, target);
    return {};
  }
  if (std::count(plan.dims.begin(), plan.dims.end(), kUnknownDim) != 1 || in < 0 || plan.empties) return {};
  plan.rest_out.erase(open);
  DEPUTY_ASSIGN_OR_RETURN(const int64_t out, DimProduct(plan.rest_out));
  // If it does not fit, the run fails; the unknown extent may be a 0 that copies.
  const std::optional<int64_t> rest = RestOf(plan.rest_in, in, out);
  if (rest) *std::find(plan.dims.begin(), plan.dims.end(), kUnknownDim) = *rest;
  return {};
}

}  // namespace

Status InferReshape(InferenceContext& context) {
  const ValueType& input = context.input(0);
  DEPUTY_ASSIGN_OR_RETURN(const IntList shape, ReadIntList(context, 1, "shape"));
  if (!shape.count) return context.OutputUnranked(input.dtype);
  if (shape.elements.size() != *shape.count) return context.Output(input.dtype, UnknownDims(*shape.count));
  const bool allow_zero = context.primitive().GetInt("allowzero", 0) != 0;
  DEPUTY_ASSIGN_OR_RETURN(ReshapePlan plan, PlanReshape(input, shape.elements, allow_zero));
  if (input.ranked) DEPUTY_RETURN_IF_ERROR(CompleteReshape(input, shape.elements, plan));
  return context.Output(input.dtype, std::move(plan.dims));
}

Status InferFlatten(InferenceContext& context) {
  const ValueType& input = context.input(0);
  if (!input.ranked) return context.Output(input.dtype, UnknownDims(2));
  const int64_t rank = static_cast<int64_t>(input.dims.size());
  int64_t axis = context.primitive().GetInt("axis", 1);
  const int64_t least =
      context.primitive().since_version() < 11 ? 0 : -rank;  // before, axes did not count from the end
  if (axis < least || axis > rank)
    return Error(StatusCode::kModel, "axis {} is out of range for an input of rank {}, expected {} to {}", axis, rank,
                 least, rank);
  if (axis < 0) axis += rank;
  const std::span<const int64_t> dims(input.dims);
  DEPUTY_ASSIGN_OR_RETURN(const int64_t rows, DimProduct(dims.first(static_cast<size_t>(axis))));
  DEPUTY_ASSIGN_OR_RETURN(const int64_t columns, DimProduct(dims.subspan(static_cast<size_t>(axis))));
  return context.Output(input.dtype, {rows, columns});
}

Status InferSqueeze(InferenceContext& context) {
  const ValueType& input = context.input(0);
  if (!context.has_input(1)) {
    if (!input.is_static()) return context.OutputUnranked(input.dtype);
    std::vector<int64_t> dims;
    std::copy_if(input.dims.begin(), input.dims.end(), std::back_inserter(dims), [](int64_t dim) { return dim != 1; });
    return context.Output(input.dtype, std::move(dims));
  }
  DEPUTY_ASSIGN_OR_RETURN(const IntList axes, ReadIntList(context, 1, "axes"));
  if (!input.ranked || !axes.count) return context.OutputUnranked(input.dtype);
  if (*axes.count > input.dims.size())
    return Error(StatusCode::kModel, "cannot squeeze {} axes of shape {}", *axes.count, ShapeToString(input.dims));
  if (!axes.values) return context.Output(input.dtype, UnknownDims(input.dims.size() - *axes.count));
  DEPUTY_ASSIGN_OR_RETURN(const std::vector<size_t> squeezed, NormalizeAxes(context, *axes.values, input.dims.size()));
  std::vector<int64_t> dims;
  for (size_t i = 0; i < input.dims.size(); ++i) {
    if (std::find(squeezed.begin(), squeezed.end(), i) == squeezed.end()) {
      dims.push_back(input.dims[i]);
    } else if (input.dims[i] >= 0 && input.dims[i] != 1) {
      return Error(StatusCode::kModel, "cannot squeeze axis {} of shape {}: its extent is not 1", i,
                   ShapeToString(input.dims));
    }
  }
  return context.Output(input.dtype, std::move(dims));
}

Status InferUnsqueeze(InferenceContext& context) {
  const ValueType& input = context.input(0);
  DEPUTY_ASSIGN_OR_RETURN(const IntList axes, ReadIntList(context, 1, "axes"));
  if (!input.ranked || !axes.count) return context.OutputUnranked(input.dtype);
  const size_t rank = input.dims.size() + *axes.count;
  if (!axes.values) return context.Output(input.dtype, UnknownDims(rank));
  DEPUTY_ASSIGN_OR_RETURN(const std::vector<size_t> added, NormalizeAxes(context, *axes.values, rank));
  std::vector<int64_t> dims(rank, 1);
  for (size_t i = 0, from = 0; i < rank; ++i)
    if (std::find(added.begin(), added.end(), i) == added.end()) dims[i] = input.dims[from++];
  return context.Output(input.dtype, std::move(dims));
}

Status InferExpand(InferenceContext& context) {
  const ValueType& input = context.input(0);
  DEPUTY_ASSIGN_OR_RETURN(const IntList shape, ReadIntList(context, 1, "shape"));
  if (!input.ranked || !shape.count) return context.OutputUnranked(input.dtype);
  for (const PartialInt& extent : shape.elements)
    if (extent.known && extent.value < 0)
      return Error(StatusCode::kModel, "cannot expand to {}: negative extent", TargetText(shape.elements));
  DEPUTY_ASSIGN_OR_RETURN(std::vector<int64_t> dims, BroadcastDims(input.dims, shape.dims()));
  return context.Output(input.dtype, std::move(dims));
}

Status InferShape(InferenceContext& context) {
  const ValueType& input = context.input(0);
  if (!input.ranked) return context.Output(DType::kInt64, UnknownDims(1));
  const int64_t rank = static_cast<int64_t>(input.dims.size());
  const auto clamp = [rank](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + rank : i, 0, rank); };
  const int64_t start = clamp(context.primitive().GetInt("start", 0));
  const int64_t end = clamp(context.primitive().GetInt("end", rank));
  return context.Output(DType::kInt64, {std::max<int64_t>(end - start, 0)});
}

Status InferSize(InferenceContext& context) { return context.Output(DType::kInt64, {}); }

Status InferConstant(InferenceContext& context) {
  const Primitive& primitive = context.primitive();
  if (const std::optional<Tensor> tensor = primitive.GetTensor("value")) {
    context.SetOutput(0, tensor->dtype(), tensor->shape());
  } else if (primitive.Has("value_float")) {
    context.SetOutput(0, DType::kFloat32, {});
  } else if (primitive.Has("value_int")) {
    context.SetOutput(0, DType::kInt64, {});
  } else if (primitive.Has("value_floats")) {
    context.SetOutput(0, DType::kFloat32, {static_cast<int64_t>(primitive.GetFloats("value_floats").size())});
  } else if (primitive.Has("value_ints")) {
    context.SetOutput(0, DType::kInt64, {static_cast<int64_t>(primitive.GetInts("value_ints").size())});
  } else if (primitive.Has("value_string")) {
    context.SetOutput(0, DType::kString, {});
  } else if (primitive.Has("value_strings")) {
    context.SetOutput(0, DType::kString, {static_cast<int64_t>(primitive.GetStrings("value_strings").size())});
  } else {
    return Error(StatusCode::kModel, "a value attribute is missing");
  }
  return {};
}

Status InferConstantOfShape(InferenceContext& context) {
  const std::optional<Tensor> value = context.primitive().GetTensor("value");
  const DType dtype = value ? value->dtype() : DType::kFloat32;
  if (value && value->element_count() != 1)
    return Error(StatusCode::kModel, "attribute 'value' has {} elements, expected 1", value->element_count());
  DEPUTY_ASSIGN_OR_RETURN(const IntList shape, ReadIntList(context, 0, "input"));
  if (shape.count) {
    for (const PartialInt& extent : shape.elements)
      if (extent.known && extent.value < 0)
        return Error(StatusCode::kModel, "shape {} has a negative extent", TargetText(shape.elements));
    context.SetOutput(0, dtype, shape.dims());
  } else {
    context.SetOutputUnranked(0, dtype);
  }
  return {};
}

Status InferEyeLike(InferenceContext& context) {
  const ValueType& input = context.input(0);
  const int64_t asked = context.primitive().GetInt("dtype", static_cast<int64_t>(input.dtype));
  const DType dtype = asked >= 0 && asked <= 31 ? static_cast<DType>(asked) : DType::kUndefined;
  if (context.primitive().Has("dtype") && BitsOf(dtype) == 0) return UnsupportedElementType("dtype", asked);
  if (input.ranked && input.dims.size() != 2)
    return Error(StatusCode::kModel, "input must have rank 2, got shape {}", ShapeToString(input.dims));
  return context.Output(dtype, input.ranked ? input.dims : UnknownDims(2));
}

Status InferRange(InferenceContext& context) {
  const DType dtype = context.input(0).dtype;
  static constexpr const char* kNames[] = {"start", "limit", "delta"};
  for (size_t i = 0; i < 3; ++i) DEPUTY_RETURN_IF_ERROR(CheckOneElement(context, i, kNames[i]));
  const Tensor *start = context.constant(0), *limit = context.constant(1), *delta = context.constant(2);
  if (start == nullptr || limit == nullptr || delta == nullptr) return context.Output(dtype, UnknownDims(1));
  DEPUTY_ASSIGN_OR_RETURN(const int64_t count, RangeCount(*start, *limit, *delta));
  return context.Output(dtype, {count});
}

namespace {

// The graph walk sets the outputs from the regions; they are unknown here.
Status InferNothing(InferenceContext& context) {
  for (size_t i = 0; i < context.output_count(); ++i) context.SetOutputUnranked(i, DType::kUndefined);
  return {};
}

}  // namespace

Status InferIf(InferenceContext& context) { return InferNothing(context); }
Status InferLoop(InferenceContext& context) { return InferNothing(context); }
Status InferScan(InferenceContext& context) { return InferNothing(context); }

}  // namespace deputy::host
