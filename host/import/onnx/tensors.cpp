#include "import/onnx/tensors.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/aligned.hpp"
#include "base/printable.hpp"
#include "graph/graph.hpp"
#include "import/onnx/condense.hpp"
#include "tensor/shape.hpp"

namespace deputy::host::onnx_import {

namespace {

constexpr size_t kMostDims = 64;
// Bounds of the memory for a file's sparse tensors: in bytes, and as a multiple of the file's size.
constexpr size_t kDenseBytes = size_t{256} << 20, kDenseTimes = 64;

int TypedCount(const pb::TensorProto& proto) {
  return proto.float_data_size() + proto.int32_data_size() + proto.int64_data_size() + proto.double_data_size() +
         proto.uint64_data_size() + proto.string_data_size();
}

template <class T, class List>
Result<Tensor> FromList(DType dtype, Shape shape, const List& list) {
  DEPUTY_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(dtype, std::move(shape)));
  const std::span<T> values = tensor.mutable_values<T>();
  for (size_t i = 0; i < values.size(); ++i) {
    const auto value = list[static_cast<int>(i)];
    if constexpr (std::is_integral_v<T>)
      if (!std::in_range<T>(value))
        return Error(StatusCode::kModel, "element {} is {}, which is out of range for {}", i, value, NameOf(dtype));
    values[i] = static_cast<T>(value);
  }
  return tensor;
}

// A bool is one byte, 0 or 1, wherever Deputy reads one.
void MakeBools(std::span<uint8_t> bytes) {
  for (uint8_t& byte : bytes) byte = byte != 0;
}

Result<Tensor> FromTypedLists(const pb::TensorProto& proto, DType dtype, Shape shape, size_t bytes) {
  int count = 0;
  switch (dtype) {
    case DType::kFloat32: count = proto.float_data_size(); break;
    case DType::kInt64: count = proto.int64_data_size(); break;
    case DType::kFloat64: count = proto.double_data_size(); break;
    case DType::kUint32:
    case DType::kUint64: count = proto.uint64_data_size(); break;
    default: count = proto.int32_data_size(); break;
  }
  if (count != TypedCount(proto))
    return Error(StatusCode::kModel, "has elements in a data field of a type other than {}", NameOf(dtype));
  const size_t needed = IsPacked(dtype) ? bytes : bytes / SizeOf(dtype);  // packed elements are given as bytes
  if (static_cast<size_t>(count) != needed)
    return Error(StatusCode::kModel, "has {} elements, but its shape has {}", count, needed);
  switch (dtype) {
    case DType::kFloat32: return FromList<float>(dtype, std::move(shape), proto.float_data());
    case DType::kInt64: return FromList<int64_t>(dtype, std::move(shape), proto.int64_data());
    case DType::kFloat64: return FromList<double>(dtype, std::move(shape), proto.double_data());
    case DType::kUint32: return FromList<uint32_t>(dtype, std::move(shape), proto.uint64_data());
    case DType::kUint64: return FromList<uint64_t>(dtype, std::move(shape), proto.uint64_data());
    case DType::kInt8: return FromList<int8_t>(dtype, std::move(shape), proto.int32_data());
    case DType::kUint8:
    case DType::kFloat8E4M3FN:  // as bits, like the types that follow
    case DType::kFloat8E4M3FNUZ:
    case DType::kFloat8E5M2:
    case DType::kFloat8E5M2FNUZ:
    case DType::kFloat8E8M0:
    case DType::kUint4:
    case DType::kInt4:
    case DType::kFloat4E2M1:
    case DType::kUint2:
    case DType::kInt2: return FromList<uint8_t>(dtype, std::move(shape), proto.int32_data());
    case DType::kInt16: return FromList<int16_t>(dtype, std::move(shape), proto.int32_data());
    case DType::kUint16:
    case DType::kFloat16:  // as bits
    case DType::kBFloat16: return FromList<uint16_t>(dtype, std::move(shape), proto.int32_data());
    case DType::kInt32: return FromList<int32_t>(dtype, std::move(shape), proto.int32_data());
    case DType::kBool: {
      Result<Tensor> tensor = FromList<uint8_t>(dtype, std::move(shape), proto.int32_data());
      if (tensor.ok()) MakeBools(tensor->mutable_values<uint8_t>());
      return tensor;
    }
    case DType::kString:
    case DType::kUndefined: break;
  }
  return Error(StatusCode::kInternal, "no reader for {}", NameOf(dtype));
}

std::optional<uint64_t> ParseNumber(const std::string& text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

struct ExternalPlace {
  std::string location;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
};

Result<ExternalPlace> PlaceOf(const pb::TensorProto& proto) {
  ExternalPlace place;
  std::set<std::string> seen;
  for (const pb::StringStringEntryProto& entry : proto.external_data()) {
    if (!seen.insert(entry.key()).second)
      return Error(StatusCode::kModel, "external data has the key '{}' twice", Printable(entry.key()));
    if (entry.key() == "location") {
      place.location = entry.value();
    } else if (entry.key() == "offset" || entry.key() == "length") {
      const std::optional<uint64_t> number = ParseNumber(entry.value());
      if (!number)
        return Error(StatusCode::kModel, "external data has the invalid {} '{}', expected a number of bytes",
                     entry.key(), Printable(entry.value()));
      if (entry.key() == "offset") place.offset = *number;
      if (entry.key() == "length") place.length = number;
    } else if (entry.key() != "checksum") {
      return Error(StatusCode::kModel, "external data has an unknown key '{}'", Printable(entry.key()));
    }
  }
  return place;
}

}  // namespace

Result<DType> DTypeFromProto(int32_t data_type) {
  if (data_type >= 1 && data_type <= 26 && data_type != 14 && data_type != 15) return static_cast<DType>(data_type);
  if (const char* name = NameOfUnsupportedType(data_type))
    return Error(StatusCode::kNotSupported, "elements of {} are not supported", name);
  return Error(StatusCode::kModel, "{} is not a valid element type", data_type);
}

namespace {

Result<size_t> BytesOfShape(DType dtype, const Shape& shape) {
  if (shape.size() > kMostDims)
    return Error(StatusCode::kModel, "has rank {}, expected at most {}", shape.size(), kMostDims);
  Result<size_t> size = ByteSize(dtype, shape);
  if (!size.ok()) return std::move(size).status().WithCode(StatusCode::kModel);
  return size;
}

}  // namespace

Result<Tensor> TensorReader::Read(const pb::TensorProto& proto) const {
  DEPUTY_ASSIGN_OR_RETURN(const DType dtype, DTypeFromProto(proto.data_type()));
  if (dtype == DType::kString) return Error(StatusCode::kNotSupported, "constants of strings are not supported");
  if (proto.has_segment()) return Error(StatusCode::kNotSupported, "tensors in segments are not supported");
  Shape shape(proto.dims().begin(), proto.dims().end());
  DEPUTY_ASSIGN_OR_RETURN(const size_t size, BytesOfShape(dtype, shape));
  const bool external = proto.data_location() == pb::TensorProto::EXTERNAL;
  if (external + proto.has_raw_data() + (TypedCount(proto) != 0) > 1)
    return Error(StatusCode::kModel, "has its elements in more than one data field");
  if (!external && proto.external_data_size() != 0)
    return Error(StatusCode::kModel, "has external_data, but its data_location is not EXTERNAL");
  if (external) return FromExternal(proto, dtype, std::move(shape), size);
  if (!proto.has_raw_data()) return FromTypedLists(proto, dtype, std::move(shape), size);
  WeightReference reference{};
  if (proto.raw_data().size() != sizeof(reference))
    return Error(StatusCode::kInternal, "a tensor was not condensed before it was read");
  std::memcpy(&reference, proto.raw_data().data(), sizeof(reference));
  if (reference.size != size)
    return Error(StatusCode::kModel, "has {} bytes, but its {} elements need {}", reference.size, NameOf(dtype), size);
  return FromBytes(dtype, std::move(shape), bytes_.subspan(reference.offset, reference.size), keep_);
}

Result<Tensor> TensorReader::ReadSparse(const pb::SparseTensorProto& proto) {
  DEPUTY_ASSIGN_OR_RETURN(const Tensor values, Read(proto.values()));
  DEPUTY_ASSIGN_OR_RETURN(const Tensor indices, Read(proto.indices()));
  const Shape shape(proto.dims().begin(), proto.dims().end());
  const auto count = static_cast<size_t>(values.element_count()), rank = shape.size();
  if (IsPacked(values.dtype()))
    return Error(StatusCode::kNotSupported, "sparse tensors of {} are not supported", NameOf(values.dtype()));
  const bool linear = indices.shape().size() == 1;
  const Shape wanted = linear ? Shape{values.element_count()} : Shape{values.element_count(), proto.dims_size()};
  if (values.shape().size() != 1 || indices.dtype() != DType::kInt64 || indices.shape() != wanted)
    return Error(StatusCode::kModel, "indices {} {} do not match values {} of a sparse tensor of rank {}",
                 NameOf(indices.dtype()), ShapeToString(indices.shape()), ShapeToString(values.shape()), rank);
  DEPUTY_ASSIGN_OR_RETURN(const size_t size, BytesOfShape(values.dtype(), shape));
  const size_t most = kDenseBytes + kDenseTimes * bytes_.size();
  if (size > most || dense_bytes_ > most - size)
    return Error(StatusCode::kResourceExhausted, "a sparse tensor of shape {} is too large to convert to a dense one",
                 ShapeToString(shape));
  dense_bytes_ += size;
  DEPUTY_ASSIGN_OR_RETURN(Tensor dense, Tensor::Allocate(values.dtype(), shape));
  const size_t element = SizeOf(values.dtype()), step = linear ? 1 : rank;
  for (size_t i = 0; i < count; ++i) {
    int64_t place = linear ? indices.values<int64_t>()[i] : 0;
    bool inside = !linear || (place >= 0 && place < dense.element_count());
    for (size_t d = 0; d < rank && !linear; ++d) {
      const int64_t index = indices.values<int64_t>()[i * step + d];
      inside = inside && index >= 0 && index < shape[d];
      if (inside) place = place * shape[d] + index;
    }
    if (!inside) return Error(StatusCode::kModel, "index {} is out of range for shape {}", i, ShapeToString(shape));
    std::memcpy(static_cast<char*>(dense.mutable_data()) + static_cast<size_t>(place) * element,
                static_cast<const char*>(values.data()) + i * element, element);
  }
  return dense;
}

Result<Tensor> TensorReader::FromBytes(DType dtype, Shape shape, std::span<const uint8_t> bytes,
                                       const std::shared_ptr<const void>& keep) const {
  const bool aligned = reinterpret_cast<uintptr_t>(bytes.data()) % std::max<size_t>(1, SizeOf(dtype)) == 0;
  const bool clean = dtype != DType::kBool || std::all_of(bytes.begin(), bytes.end(), [](uint8_t b) { return b <= 1; });
  if (keep != nullptr && aligned && clean && !bytes.empty())
    return Tensor::Wrap(dtype, std::move(shape), const_cast<uint8_t*>(bytes.data()), bytes.size(), keep);
  // Not Tensor::Allocate, which writes zeros first.
  const std::shared_ptr<uint8_t> memory = AllocateWithinMachine(bytes.size());
  if (memory == nullptr)
    return Error(StatusCode::kResourceExhausted, "no memory for a tensor of {} bytes", bytes.size());
  if (!bytes.empty()) std::memcpy(memory.get(), bytes.data(), bytes.size());
  DEPUTY_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Wrap(dtype, std::move(shape), memory.get(), bytes.size(), memory));
  if (!clean) MakeBools(tensor.mutable_values<uint8_t>());
  return tensor;
}

Result<Tensor> TensorReader::FromExternal(const pb::TensorProto& proto, DType dtype, Shape shape, size_t size) const {
  DEPUTY_ASSIGN_OR_RETURN(const ExternalPlace place, PlaceOf(proto));
  if (place.length && *place.length != size)
    return Error(StatusCode::kModel, "external data has {} bytes, but the {} elements need {}", *place.length,
                 NameOf(dtype), size);
  DEPUTY_ASSIGN_OR_RETURN(const MappedBytes file, files_.Open(place.location));
  if (size > file.bytes.size() || place.offset > file.bytes.size() - size)
    return Error(StatusCode::kModel, "external data of {} bytes at offset {} exceeds the {} bytes of '{}'", size,
                 place.offset, file.bytes.size(), Printable(place.location));
  return FromBytes(dtype, std::move(shape), file.bytes.subspan(place.offset, size), file.keep);
}

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
      if (dim.dim_value() < -1) return Error(StatusCode::kModel, "has the invalid extent {}", dim.dim_value());
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
    return Unsupported("a sequence of elements other than tensors");
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
      if (IsOptional(type.kind)) return Unsupported("a nested optional");
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
