#include "import/tflite/tensor_info.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/printable.hpp"

namespace deputy::host::tflite_import {
namespace {

constexpr size_t kMostDims = 16;

struct ElementType {
  DType dtype;
  bool packed;
};

Result<ElementType> ElementTypeOf(fb::TensorType type) {
  switch (type) {
    case fb::TensorType_FLOAT32: return ElementType{DType::kFloat32, false};
    case fb::TensorType_FLOAT16: return ElementType{DType::kFloat16, false};
    case fb::TensorType_FLOAT64: return ElementType{DType::kFloat64, false};
    case fb::TensorType_BFLOAT16: return ElementType{DType::kBFloat16, false};
    case fb::TensorType_INT4: return ElementType{DType::kInt8, true};
    case fb::TensorType_INT8: return ElementType{DType::kInt8, false};
    case fb::TensorType_INT16: return ElementType{DType::kInt16, false};
    case fb::TensorType_INT32: return ElementType{DType::kInt32, false};
    case fb::TensorType_INT64: return ElementType{DType::kInt64, false};
    case fb::TensorType_UINT8: return ElementType{DType::kUint8, false};
    case fb::TensorType_UINT16: return ElementType{DType::kUint16, false};
    case fb::TensorType_UINT32: return ElementType{DType::kUint32, false};
    case fb::TensorType_UINT64: return ElementType{DType::kUint64, false};
    case fb::TensorType_BOOL: return ElementType{DType::kBool, false};
    case fb::TensorType_COMPLEX64: return ElementType{DType::kFloat32, false};
    case fb::TensorType_RESOURCE: return ElementType{DType::kUndefined, false};
    default: break;
  }
  const char* name = fb::EnumNameTensorType(type);
  if (*name == '\0') return Error(StatusCode::kModel, "has the invalid element type {}", int{type});
  return Error(StatusCode::kNotSupported, "has elements of type {}, which are not supported", name);
}

Result<Quantization> ReadQuantization(ModelFile& file, const fb::QuantizationParameters& table,
                                      const std::vector<int64_t>& dims) {
  if (table.details_type() != 0)
    return Error(StatusCode::kNotSupported, "has custom quantization (details type {}), which is not supported",
                 table.details_type());
  Quantization made;
  DEPUTY_ASSIGN_OR_RETURN(made.scales, file.Floats(table.scale()));
  DEPUTY_ASSIGN_OR_RETURN(made.zero_points, file.Ints(table.zero_point()));
  if (made.scales.empty()) return Quantization();
  if (made.zero_points.empty()) made.zero_points.push_back(0);
  if (made.zero_points.size() == 1) made.zero_points.resize(made.scales.size(), made.zero_points[0]);
  if (made.zero_points.size() != made.scales.size())
    return Error(StatusCode::kModel, "has {} zero points, but {} scales", made.zero_points.size(), made.scales.size());
  for (const float scale : made.scales)
    if (!std::isfinite(scale) || scale < 0) return Error(StatusCode::kModel, "has the invalid scale {}", scale);
  if (!made.per_axis()) return made;
  if (table.quantized_dimension() < 0 || static_cast<size_t>(table.quantized_dimension()) >= dims.size())
    return Error(StatusCode::kModel, "quantized_dimension {} is out of range for rank {}", table.quantized_dimension(),
                 dims.size());
  made.axis = static_cast<size_t>(table.quantized_dimension());
  if (dims[made.axis] != static_cast<int64_t>(made.scales.size()))
    return Error(StatusCode::kModel, "has {} scales, expected {}, the extent of dimension {}", made.scales.size(),
                 dims[made.axis], made.axis);
  return made;
}

Status CheckZeroPoints(const TensorInfo& info) {
  int64_t low = 0, high = 0;
  switch (info.dtype) {
    case DType::kInt8: low = -128, high = 127; break;
    case DType::kUint8: high = 255; break;
    case DType::kInt16: low = -32768, high = 32767; break;
    default: return {};
  }
  for (const int64_t zero_point : info.quantization.zero_points)
    if (zero_point < low || zero_point > high)
      return Error(StatusCode::kModel, "has the zero point {}, which is out of range for {}", zero_point,
                   NameOf(info.dtype));
  return {};
}

Result<std::vector<int64_t>> ReadDims(ModelFile& file, const fb::Tensor& table) {
  DEPUTY_ASSIGN_OR_RETURN(std::vector<int64_t> dims, file.Ints(table.shape()));
  DEPUTY_ASSIGN_OR_RETURN(const std::vector<int64_t> signature, file.Ints(table.shape_signature()));
  if (dims.size() > kMostDims)
    return Error(StatusCode::kModel, "has rank {}, expected at most {}", dims.size(), kMostDims);
  if (!signature.empty() && signature.size() != dims.size())
    return Error(StatusCode::kModel, "has rank {}, but shape_signature has {} entries", dims.size(), signature.size());
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < -1 || (i < signature.size() && signature[i] < -1))
      return Error(StatusCode::kModel, "has the invalid extent {}",
                   std::min(dims[i], signature.empty() ? 0 : signature[i]));
    if (i < signature.size()) dims[i] = signature[i];
  }
  return dims;
}

Result<Tensor> Unpacked(const TensorInfo& info, std::span<const uint8_t> bytes) {
  DEPUTY_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(info.dtype, info.dims));
  const std::span<int8_t> values = tensor.mutable_values<int8_t>();
  for (size_t i = 0; i < values.size(); ++i) {
    const int nibble = (bytes[i / 2] >> (i % 2 * 4)) & 15;
    values[i] = static_cast<int8_t>(nibble < 8 ? nibble : nibble - 16);
  }
  return tensor;
}

}  // namespace

Result<TensorInfo> ReadTensorInfo(ModelFile& file, const fb::Tensor& table) {
  TensorInfo info;
  DEPUTY_ASSIGN_OR_RETURN(info.name, file.Text(table.name()));
  DEPUTY_ASSIGN_OR_RETURN(const ElementType type, ElementTypeOf(table.type()));
  info.dtype = type.dtype;
  info.packed = type.packed;
  info.is_complex = table.type() == fb::TensorType_COMPLEX64;
  info.is_resource = table.type() == fb::TensorType_RESOURCE;
  info.is_variable = table.is_variable();
  info.buffer = table.buffer();
  DEPUTY_ASSIGN_OR_RETURN(info.dims, ReadDims(file, table));
  if (table.sparsity() != nullptr) {
    info.sparsity = file.Verified<fb::SparsityParameters>(table.sparsity());
    if (info.sparsity == nullptr) return Error(StatusCode::kModel, "has invalid sparsity parameters");
  }
  if (table.external_buffer() != 0)
    return Error(StatusCode::kNotSupported, "has an external buffer, which is not supported");
  if (table.quantization() != nullptr) {
    DEPUTY_ASSIGN_OR_RETURN(info.quantization, ReadQuantization(file, *table.quantization(), info.dims));
    DEPUTY_RETURN_IF_ERROR(CheckZeroPoints(info));
  }
  if (info.is_complex) info.dims.push_back(2);
  return info;
}

Result<Tensor> ReadConstant(ModelFile& file, const TensorInfo& info) {
  DEPUTY_ASSIGN_OR_RETURN(const std::span<const uint8_t> bytes, file.Buffer(info.buffer));
  const bool is_static = std::all_of(info.dims.begin(), info.dims.end(), [](int64_t dim) { return dim >= 0; });
  if (!is_static && bytes.empty()) return Tensor();
  Result<size_t> size = ByteSize(info.dtype, info.dims);
  if (!size.ok()) return std::move(size).status().WithCode(StatusCode::kModel);
  if (info.sparsity != nullptr) return ReadSparse(file, info, bytes);
  if (bytes.empty() && *size != 0) return Tensor();
  if (info.packed) *size = (*size + 1) / 2;
  if (*size != bytes.size())
    return Error(StatusCode::kModel, "has {} bytes, but its {} elements need {}", bytes.size(), NameOf(info.dtype),
                 *size);
  const bool aligned = reinterpret_cast<uintptr_t>(bytes.data()) % SizeOf(info.dtype) == 0;
  const bool clean =
      info.dtype != DType::kBool || std::all_of(bytes.begin(), bytes.end(), [](uint8_t b) { return b <= 1; });
  if (file.keep() != nullptr && aligned && clean && !info.packed && !bytes.empty())
    return Tensor::Wrap(info.dtype, info.dims, const_cast<uint8_t*>(bytes.data()), bytes.size(), file.keep());
  DEPUTY_RETURN_IF_ERROR(file.SpendCopy(info.packed ? bytes.size() * 2 : bytes.size()));
  if (info.packed) return Unpacked(info, bytes);
  DEPUTY_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(info.dtype, info.dims));
  if (!bytes.empty()) std::memcpy(tensor.mutable_data(), bytes.data(), bytes.size());
  if (!clean)
    for (uint8_t& byte : tensor.mutable_values<uint8_t>()) byte = byte != 0;
  return tensor;
}

}  // namespace deputy::host::tflite_import
