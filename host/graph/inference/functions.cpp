#include "graph/inference/functions.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/checked.hpp"
#include "tensor/half.hpp"

namespace deputy::host {

Result<int64_t> DimProduct(std::span<const int64_t> dims) {
  int64_t known = 1, open = 1;
  bool zero = false;
  size_t open_count = 0;
  for (const int64_t dim : dims) {
    if (dim < 0) {
      open = dim;
      ++open_count;
    } else if (dim == 0) {
      zero = true;
    } else if (__builtin_mul_overflow(known, dim, &known)) {
      return Error(StatusCode::kModel, "the element count of shape {} overflows", ShapeToString(dims));
    }
  }
  if (zero) return 0;
  if (open_count == 0) return known;
  return open_count == 1 && known == 1 ? open : kUnknownDim;
}

Result<int64_t> MergeDim(int64_t a, int64_t b) {
  if (a >= 0 && b >= 0 && a != b) return Error(StatusCode::kModel, "extents {} and {} differ", a, b);
  if (a >= 0 || b == kUnknownDim) return a;
  if (b >= 0 || a == kUnknownDim) return b;
  return a;
}

Result<IntList> ReadIntList(const InferenceContext& context, size_t i, const char* name) {
  if (!context.has_input(i)) return Error(StatusCode::kModel, "input '{}' is missing", name);
  const ValueType& type = context.input(i);
  if (type.dtype != DType::kUndefined && type.dtype != DType::kInt64 && type.dtype != DType::kInt32)
    return Error(StatusCode::kModel, "input '{}' has dtype {}, expected int32 or int64", name, NameOf(type.dtype));
  if (type.ranked && type.dims.size() > 1)
    return Error(StatusCode::kModel, "input '{}' has shape {}, expected rank 1", name, ShapeToString(type.dims));
  IntList list;
  list.values = context.constant_ints(i);
  std::optional<PartialInts> partial = list.values ? std::nullopt : context.partial_ints(i);
  if (list.values) {
    list.count = list.values->size();
    for (const int64_t value : *list.values) list.elements.push_back(KnownInt(value));
  } else if (partial) {
    list.count = partial->elements.size();
    list.elements = std::move(partial->elements);
  } else if (type.ranked && type.dims.empty()) {
    list.count = 1;
  } else if (type.ranked && type.dims[0] >= 0) {
    list.count = static_cast<size_t>(type.dims[0]);
  }
  // Of a long list only the length can be known.
  if (list.count && *list.count <= kMostPartialInts) list.elements.resize(*list.count);
  return list;
}

std::vector<int64_t> IntList::dims() const {
  std::vector<int64_t> extents = UnknownDims(count.value_or(0));
  for (size_t i = 0; i < std::min(extents.size(), elements.size()); ++i) extents[i] = elements[i].dim();
  return extents;
}

Result<std::vector<size_t>> NormalizeAxes(const InferenceContext& context, std::span<const int64_t> axes, size_t rank) {
  if (axes.size() > kMostAxes)
    return Error(StatusCode::kModel, "{} axes are listed, expected at most {}", axes.size(), kMostAxes);
  std::vector<size_t> normalized;
  for (const int64_t axis : axes) {
    DEPUTY_ASSIGN_OR_RETURN(const size_t at, context.NormalizeAxis(axis, rank));
    if (std::find(normalized.begin(), normalized.end(), at) != normalized.end())
      return Error(StatusCode::kModel, "axis {} is repeated", axis);
    normalized.push_back(at);
  }
  return normalized;
}

Result<int64_t> IntOf(const Tensor& scalar, const char* name) {
  if (SizeOf(scalar.dtype()) == 0 || scalar.element_count() != 1)
    return Error(StatusCode::kModel, "input '{}' must be a scalar", name);
  const auto from_float = [name](double number) -> Result<int64_t> {
    if (!(number > -0x1p62 && number < 0x1p62))
      return Error(StatusCode::kModel, "input '{}' is {}, which is out of range", name, number);
    return static_cast<int64_t>(number);
  };
  switch (scalar.dtype()) {
    case DType::kInt8: return int64_t{scalar.values<int8_t>()[0]};
    case DType::kInt16: return int64_t{scalar.values<int16_t>()[0]};
    case DType::kInt32: return int64_t{scalar.values<int32_t>()[0]};
    case DType::kInt64: return scalar.values<int64_t>()[0];
    case DType::kUint8: return int64_t{scalar.values<uint8_t>()[0]};
    case DType::kUint16: return int64_t{scalar.values<uint16_t>()[0]};
    case DType::kUint32: return int64_t{scalar.values<uint32_t>()[0]};
    case DType::kUint64: {
      const uint64_t number = scalar.values<uint64_t>()[0];
      return number < uint64_t{1} << 62 ? static_cast<int64_t>(number) : from_float(static_cast<double>(number));
    }
    case DType::kFloat16: return from_float(static_cast<double>(ToFloat(scalar.values<Half>()[0])));
    case DType::kFloat32: return from_float(static_cast<double>(scalar.values<float>()[0]));
    case DType::kFloat64: return from_float(scalar.values<double>()[0]);
    default: return Error(StatusCode::kModel, "input '{}' has the non-numeric dtype {}", name, NameOf(scalar.dtype()));
  }
}

Status InferAs(InferenceContext& context, size_t first, size_t second, InferenceFunction infer, DType dtype) {
  Node node = context.node();
  node.inputs = {0, 1};
  const std::array<ValueType, 2> types = {context.input(first), context.input(second)};
  const std::array<Tensor, 2> constants;
  InferenceContext inner(node, types, constants);
  DEPUTY_RETURN_IF_ERROR(infer(inner));
  ValueType type = inner.outputs()[0];
  type.dtype = dtype;
  return context.Output(std::move(type));
}

Status LikeInput(InferenceContext& context, DType dtype) {
  ValueType type = context.input(0);
  type.dtype = dtype;
  return context.Output(std::move(type));
}

}  // namespace deputy::host
