#include "import/onnx/types.hpp"

#include "import/onnx/tensors.hpp"

namespace deputy::host::onnx_import {

int64_t Symbols::DimOf(const std::string& name) {
  const auto [found, added] = index_.emplace(name, names_.size());
  if (added) {
    names_.push_back(name);
    bytes_ += sizeof(name) + name.size();
  }
  return SymbolDim(found->second);
}

Result<ValueType> ReadType(const pb::TypeProto& proto, Symbols& symbols) {
  const auto unsupported = [](const char* what) {
    return Error(StatusCode::kNotSupported, "is {}; only tensors are supported", what);
  };
  switch (proto.value_case()) {
    case pb::TypeProto::kSequenceType: return unsupported("a sequence");
    case pb::TypeProto::kMapType: return unsupported("a map");
    case pb::TypeProto::kOptionalType: return unsupported("an optional");
    case pb::TypeProto::kSparseTensorType: return unsupported("a sparse tensor");
    case pb::TypeProto::kTensorType: break;
    default: return ValueType();
  }
  const pb::TypeProto::Tensor& tensor = proto.tensor_type();
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
      type.dims.push_back(dim.dim_param().empty() ? kUnknownDim : symbols.DimOf(dim.dim_param()));
    }
  }
  return type;
}

}  // namespace deputy::host::onnx_import
