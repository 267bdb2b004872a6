#include "import/onnx/types.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "import/onnx/tensors.hpp"

namespace deputy::host::onnx_import {

namespace {

// Exporters write "?" or "None" for every unknown extent; two of these need not be equal.
bool NamesNothing(std::string_view name) {
  const auto is_letter = [](unsigned char c) { return c >= 0x80 || std::isalpha(c) != 0; };
  return name == "None" || std::none_of(name.begin(), name.end(), is_letter);
}

}  // namespace

int64_t Symbols::DimOf(const std::string& name) {
  if (NamesNothing(name)) return kUnknownDim;
  const auto [found, added] = index_.emplace(name, names_.size());
  if (added) {
    names_.push_back(name);
    bytes_ += sizeof(name) + name.size();
  }
  return SymbolDim(found->second);
}

namespace {

Status Unsupported(const char* subject) {
  return Error(StatusCode::kNotSupported, "is {}; only tensors, sequences and optionals are supported", subject);
}

Result<ValueType> ReadTensorType(const pb::TypeProto::Tensor& tensor, Symbols& symbols) {
  ValueType type;
  if (tensor.elem_type() != 0) {
    DEPUTY_ASSIGN_OR_RETURN(type.dtype, DTypeFromProto(tensor.elem_type()));
  }
  type.ranked = tensor.has_shape();
  for (const pb::TensorShapeProto::Dimension& dim : tensor.shape().dim()) {
    if (dim.value_case() == pb::TensorShapeProto::Dimension::kDimValue) {
      if (dim.dim_value() < -1) return Error(StatusCode::kModel, "has an extent of {}", dim.dim_value());
      type.dims.push_back(dim.dim_value());
    } else {
      type.dims.push_back(symbols.DimOf(dim.dim_param()));
    }
  }
  return type;
}

// Each element of a sequence may have its own number for a symbol.
Result<ValueType> ReadSequenceType(const pb::TypeProto& element, Symbols& symbols) {
  if (element.value_case() != pb::TypeProto::kTensorType && element.value_case() != pb::TypeProto::VALUE_NOT_SET)
    return Unsupported("a sequence of something else than tensors");
  DEPUTY_ASSIGN_OR_RETURN(ValueType type, ReadTensorType(element.tensor_type(), symbols));
  for (int64_t& dim : type.dims) dim = IsSymbol(dim) ? kUnknownDim : dim;
  type.kind = ValueKind::kSequence;
  return type;
}

}  // namespace

Result<ValueType> ReadType(const pb::TypeProto& proto, Symbols& symbols) {
  switch (proto.value_case()) {
    case pb::TypeProto::kTensorType: return ReadTensorType(proto.tensor_type(), symbols);
    case pb::TypeProto::kSequenceType: return ReadSequenceType(proto.sequence_type().elem_type(), symbols);
    case pb::TypeProto::kOptionalType: {
      DEPUTY_ASSIGN_OR_RETURN(ValueType type, ReadType(proto.optional_type().elem_type(), symbols));
      if (IsOptional(type.kind)) return Unsupported("an optional of an optional");
      for (int64_t& dim : type.dims) dim = IsSymbol(dim) ? kUnknownDim : dim;
      type.kind = HoldsSequence(type.kind) ? ValueKind::kOptionalSequence : ValueKind::kOptionalTensor;
      return type;
    }
    case pb::TypeProto::kMapType: return Unsupported("a map");
    case pb::TypeProto::kSparseTensorType: return Unsupported("a sparse tensor");
    default: return ValueType();
  }
}

}  // namespace deputy::host::onnx_import
