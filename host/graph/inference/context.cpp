#include "graph/inference/functions.hpp"

namespace deputy::host {

std::optional<std::vector<int64_t>> InferenceContext::constant_ints(size_t i) const {
  const Tensor* tensor = constant(i);
  if (tensor == nullptr) return std::nullopt;
  if (tensor->dtype() == DType::kInt64) {
    const std::span<const int64_t> values = tensor->values<int64_t>();
    return std::vector<int64_t>(values.begin(), values.end());
  }
  if (tensor->dtype() == DType::kInt32) {
    const std::span<const int32_t> values = tensor->values<int32_t>();
    return std::vector<int64_t>(values.begin(), values.end());
  }
  return std::nullopt;
}

std::optional<PartialInts> InferenceContext::partial_ints(size_t i) const {
  if (const Tensor* tensor = constant(i)) {
    if (tensor->shape().size() > 1 || tensor->byte_size() > kMostPartialInts * sizeof(int64_t)) return std::nullopt;
    PartialInts known{tensor->shape().empty(), {}};
    if (tensor->dtype() == DType::kBool) {
      for (const uint8_t value : tensor->values<uint8_t>()) known.elements.push_back(KnownInt(value != 0));
      return known;
    }
    const std::optional<std::vector<int64_t>> values = constant_ints(i);
    if (!values) return std::nullopt;
    for (const int64_t value : *values) known.elements.push_back(KnownInt(value));
    return known;
  }
  if (i >= partial_.size() || partial_[i] == nullptr) return std::nullopt;
  return *partial_[i];
}

void InferenceContext::SetOutput(size_t i, ValueType type) {
  if (i < outputs_.size() && node_.outputs[i] != kNone) outputs_[i] = std::move(type);
}

void InferenceContext::SetOutput(size_t i, DType dtype, std::vector<int64_t> dims) {
  SetOutput(i, ValueType{dtype, true, std::move(dims)});
}

void InferenceContext::SetOutputUnranked(size_t i, DType dtype) { SetOutput(i, ValueType{dtype, false, {}}); }

Status InferenceContext::Output(ValueType type) {
  SetOutput(0, std::move(type));
  return {};
}

Result<size_t> InferenceContext::NormalizeAxis(int64_t axis, size_t rank) const {
  const int64_t signed_rank = static_cast<int64_t>(rank);
  if (axis < -signed_rank || axis >= signed_rank)
    return Error(StatusCode::kModel, "axis {} is out of range for an input of rank {}", axis, rank);
  return static_cast<size_t>(axis < 0 ? axis + signed_rank : axis);
}

Result<std::vector<int64_t>> BroadcastDims(std::span<const int64_t> a, std::span<const int64_t> b) {
  const size_t rank = std::max(a.size(), b.size());
  std::vector<int64_t> dims(rank);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t x = i + a.size() < rank ? 1 : a[i + a.size() - rank];
    const int64_t y = i + b.size() < rank ? 1 : b[i + b.size() - rank];
    if (x == y || y == 1) {
      dims[i] = x;
    } else if (x == 1) {
      dims[i] = y;
    } else if (x >= 0 && y >= 0) {
      return Error(StatusCode::kModel, "shapes {} and {} cannot be broadcast together", ShapeToString(a),
                   ShapeToString(b));
    } else if (x > 1 || y > 1) {
      dims[i] = std::max(x, y);  // the unknown one is 1 or the same
    } else {
      dims[i] = kUnknownDim;
    }
  }
  return dims;
}

namespace {

bool TakesMoreThanTensors(OpKind kind) {
  switch (kind) {
    case OpKind::kConcatFromSequence:
    case OpKind::kIdentity:
    case OpKind::kOptional:
    case OpKind::kOptionalGetElement:
    case OpKind::kOptionalHasElement:
    case OpKind::kSequenceAt:
    case OpKind::kSequenceConstruct:
    case OpKind::kSequenceErase:
    case OpKind::kSequenceInsert:
    case OpKind::kSequenceLength:
    case OpKind::kSequenceMap: return true;
    default: return false;
  }
}

}  // namespace

Status InferNode(InferenceContext& context) {
  static constexpr InferenceFunction kFunctions[] = {
      nullptr,
#define DEPUTY_OPERATOR_BEGIN(name, ...) Infer##name,
#include "schema/operators.inc"
  };
  const OpKind kind = context.primitive().kind();
  const InferenceFunction function = kFunctions[static_cast<size_t>(kind)];
  if (function == nullptr) return {};
  if (!TakesMoreThanTensors(kind))
    for (size_t i = 0; i < context.input_count(); ++i)
      if (!context.input(i).is_tensor())
        return Error(StatusCode::kModel, "input {} is {}, expected a tensor", i,
                     HoldsSequence(context.input(i).kind) ? "a sequence" : "an optional");
  DEPUTY_RETURN_IF_ERROR(function(context));
  for (const ValueType& type : context.outputs()) DEPUTY_RETURN_IF_ERROR(CheckExtents(type).At("an output"));
  return {};
}

}  // namespace deputy::host
