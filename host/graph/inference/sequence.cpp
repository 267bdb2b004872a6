// Inference of sequences and optionals. The element type of a sequence holds the extents that all elements share.
#include <algorithm>

#include "graph/graph.hpp"
#include "graph/inference/functions.hpp"
#include "graph/inference/operands.hpp"

namespace deputy::host {
namespace {

ValueType As(ValueType type, ValueKind kind) {
  type.kind = kind;
  return type;
}

// An optional that may hold a sequence is accepted as one: whether it does is checked in the run.
Status CheckSequence(const InferenceContext& context, size_t i) {
  if (HoldsSequence(context.input(i).kind)) return {};
  return Error(StatusCode::kModel, "input {} must be a sequence", i);
}

Status CheckTensor(const InferenceContext& context, size_t i) {
  if (!context.has_input(i) || context.input(i).is_tensor()) return {};
  return Error(StatusCode::kModel, "input {} must be a tensor", i);
}

Status CheckIntegers(const InferenceContext& context, size_t i) {
  DEPUTY_RETURN_IF_ERROR(CheckTensor(context, i));
  if (!context.has_input(i)) return {};
  const ValueType& position = context.input(i);
  const bool integer = position.dtype == DType::kInt64 || position.dtype == DType::kInt32;
  if (!integer && position.dtype != DType::kUndefined)
    return Error(StatusCode::kModel, "position has dtype {}, expected int32 or int64", NameOf(position.dtype));
  return {};
}

Status CheckPosition(const InferenceContext& context, size_t i) {
  DEPUTY_RETURN_IF_ERROR(CheckIntegers(context, i));
  return CheckOneElement(context, i, "position");
}

// The size of all parts but the last, or the size of each; of an axis of this extent.
Status CheckParts(const InferenceContext& context, int64_t extent) {
  if (ModelConstant(context, 1) == nullptr) return {};
  const std::optional<std::vector<int64_t>> sizes = context.constant_ints(1);
  if (!sizes || sizes->empty()) return {};
  if (context.input(1).dims.empty()) {
    if ((*sizes)[0] >= 1) return {};
    return Error(StatusCode::kModel, "input 'split' must be at least 1, got {}", (*sizes)[0]);
  }
  int64_t sum = 0;
  for (const int64_t size : *sizes)
    if (size < 0 || __builtin_add_overflow(sum, size, &sum))
      return Error(StatusCode::kModel, "the sizes in 'split' must not be negative or overflow, got {}", size);
  if (extent < 0 || sum == extent) return {};
  return Error(StatusCode::kModel, "the sizes in 'split' add up to {}, expected the extent {}", sum, extent);
}

Status CheckSameElements(const ValueType& a, const ValueType& b) {
  if (a.dtype == b.dtype || a.dtype == DType::kUndefined || b.dtype == DType::kUndefined) return {};
  return Error(StatusCode::kModel, "the elements of a sequence must have the same dtype, got {} and {}",
               NameOf(a.dtype), NameOf(b.dtype));
}

// The extent along the axis of every part, if they have one in common.
int64_t PartExtent(const InferenceContext& context, int64_t extent) {
  if (!context.has_input(1)) return 1;
  const std::optional<std::vector<int64_t>> sizes = context.constant_ints(1);
  if (!sizes || sizes->empty()) return kUnknownDim;
  if (context.input(1).dims.empty())
    return extent >= 0 && (*sizes)[0] > 0 && extent % (*sizes)[0] == 0 ? (*sizes)[0] : kUnknownDim;
  const bool equal = std::all_of(sizes->begin(), sizes->end(), [&](int64_t size) { return size == (*sizes)[0]; });
  return equal && (*sizes)[0] >= 0 ? (*sizes)[0] : kUnknownDim;
}

}  // namespace

Status InferSequenceConstruct(InferenceContext& context) {
  ValueType elements = context.input(0);
  for (size_t i = 0; i < context.input_count(); ++i) {
    if (!context.has_input(i)) return Error(StatusCode::kModel, "input {} is missing", i);
    DEPUTY_RETURN_IF_ERROR(CheckTensor(context, i));
    DEPUTY_RETURN_IF_ERROR(CheckSameElements(elements, context.input(i)));
    elements = CommonType(elements, context.input(i));
  }
  return context.Output(As(std::move(elements), ValueKind::kSequence));
}

Status InferSequenceEmpty(InferenceContext& context) {
  const int64_t number = context.primitive().GetInt("dtype", 1);
  const DType dtype = number > 0 && number <= 31 ? static_cast<DType>(number) : DType::kUndefined;
  if (BitsOf(dtype) == 0 && dtype != DType::kString) return UnsupportedElementType("dtype", number);
  return context.Output(ValueType{dtype, false, {}, ValueKind::kSequence});
}

Status InferSequenceAt(InferenceContext& context) {
  DEPUTY_RETURN_IF_ERROR(CheckSequence(context, 0));
  DEPUTY_RETURN_IF_ERROR(CheckPosition(context, 1));
  return context.Output(As(context.input(0), ValueKind::kTensor));
}

Status InferSequenceInsert(InferenceContext& context) {
  DEPUTY_RETURN_IF_ERROR(CheckSequence(context, 0));
  DEPUTY_RETURN_IF_ERROR(CheckTensor(context, 1));
  DEPUTY_RETURN_IF_ERROR(CheckPosition(context, 2));
  DEPUTY_RETURN_IF_ERROR(CheckSameElements(context.input(0), context.input(1)));
  ValueType elements = CommonType(As(context.input(0), ValueKind::kTensor), context.input(1));
  return context.Output(As(std::move(elements), ValueKind::kSequence));
}

Status InferSequenceErase(InferenceContext& context) {
  DEPUTY_RETURN_IF_ERROR(CheckSequence(context, 0));
  DEPUTY_RETURN_IF_ERROR(CheckPosition(context, 1));
  return context.Output(As(context.input(0), ValueKind::kSequence));
}

Status InferSequenceLength(InferenceContext& context) {
  DEPUTY_RETURN_IF_ERROR(CheckSequence(context, 0));
  return context.Output(DType::kInt64, {});
}

Status InferSequenceMap(InferenceContext&) {
  return Error(StatusCode::kInternal, "SequenceMap must be expanded to Loop before type inference");
}

Status InferSplitToSequence(InferenceContext& context) {
  ValueType part = context.input(0);
  DEPUTY_RETURN_IF_ERROR(CheckIntegers(context, 1));
  if (part.ranked) {
    DEPUTY_ASSIGN_OR_RETURN(const size_t axis,
                            context.NormalizeAxis(context.primitive().GetInt("axis", 0), part.dims.size()));
    if (context.has_input(1)) DEPUTY_RETURN_IF_ERROR(CheckParts(context, part.dims[axis]));
    part.dims[axis] = PartExtent(context, part.dims[axis]);
    if (!context.has_input(1) && context.primitive().GetInt("keepdims", 1) == 0)
      part.dims.erase(part.dims.begin() + static_cast<ptrdiff_t>(axis));
  }
  return context.Output(As(std::move(part), ValueKind::kSequence));
}

Status InferConcatFromSequence(InferenceContext& context) {
  DEPUTY_RETURN_IF_ERROR(CheckSequence(context, 0));
  if (!context.primitive().Has("axis")) return Error(StatusCode::kModel, "attribute 'axis' is missing");
  ValueType joined = As(context.input(0), ValueKind::kTensor);
  const bool stacked = context.primitive().GetInt("new_axis", 0) != 0;
  if (joined.ranked) {
    DEPUTY_ASSIGN_OR_RETURN(const size_t axis, context.NormalizeAxis(context.primitive().GetInt("axis", 0),
                                                                     joined.dims.size() + (stacked ? 1 : 0)));
    if (stacked) joined.dims.insert(joined.dims.begin() + static_cast<ptrdiff_t>(axis), kUnknownDim);
    joined.dims[axis] = kUnknownDim;
  }
  return context.Output(std::move(joined));
}

Status InferOptional(InferenceContext& context) {
  ValueType type;
  if (context.has_input(0)) {
    type = context.input(0);
  } else {
    if (!context.primitive().Has("type"))
      return Error(StatusCode::kModel, "an input or the attribute 'type' is required");
    DEPUTY_ASSIGN_OR_RETURN(type, ParseNotation(context.primitive().GetString("type", "")));
  }
  if (IsOptional(type.kind)) return Error(StatusCode::kModel, "nested optional types are not supported");
  const bool sequence = HoldsSequence(type.kind);
  return context.Output(As(std::move(type), sequence ? ValueKind::kOptionalSequence : ValueKind::kOptionalTensor));
}

Status InferOptionalGetElement(InferenceContext& context) {
  const bool sequence = HoldsSequence(context.input(0).kind);
  return context.Output(As(context.input(0), sequence ? ValueKind::kSequence : ValueKind::kTensor));
}

Status InferOptionalHasElement(InferenceContext& context) { return context.Output(DType::kBool, {}); }

}  // namespace deputy::host
