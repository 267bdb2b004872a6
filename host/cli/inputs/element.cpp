#include "cli/inputs/element.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

namespace deputy::cli {

std::pair<double, double> RangeOf(DType dtype) {
  const double bits = 8.0 * static_cast<double>(SizeOf(dtype));
  switch (dtype) {
    case DType::kBool: return {0, 1};
    case DType::kUint8:
    case DType::kUint16:
    case DType::kUint32:
    case DType::kUint64: return {0, std::nextafter(std::exp2(bits), 0.0)};
    case DType::kInt8:
    case DType::kInt16:
    case DType::kInt32:
    case DType::kInt64: return {-std::exp2(bits - 1), std::nextafter(std::exp2(bits - 1), 0.0)};
    default: return {-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
  }
}

Result<Tensor> ConvertRounded(const Tensor& tensor, DType dtype) {
  if (!IsNumeric(tensor.dtype()) || !IsNumeric(dtype) || IsStorage(dtype))
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("{} cannot be converted to {}", NameOf(tensor.dtype()), NameOf(dtype)));
  DEPUTY_ASSIGN_OR_RETURN(Tensor converted, Tensor::Allocate(dtype, tensor.shape()));
  const bool to_integer = !IsFloating(dtype), from_integer = !IsFloating(tensor.dtype());
  const auto [low, high] = RangeOf(dtype);
  for (int64_t i = 0; i < tensor.element_count(); ++i) {
    const double value = ElementAt(tensor, i), rounded = to_integer ? std::nearbyint(value) : value;
    // Elements are read as doubles, which do not have all integers from 2^53 on.
    const bool known = !(to_integer && from_integer && std::abs(value) >= 0x1p53);
    bool fits = known && (to_integer ? rounded >= low && rounded <= high : true);
    if (fits) SetElement(converted, i, rounded);
    if (fits && std::isfinite(value)) fits = std::isfinite(ElementAt(converted, i));  // a float may become infinite
    if (!fits)
      return Status(StatusCode::kInvalidArgument,
                    fmt::format("element {} is {}, which is out of the range of {}", i, value, NameOf(dtype)));
  }
  return converted;
}

std::optional<Tensor> ConvertTensor(const Tensor& tensor, DType dtype) {
  if (!IsNumeric(tensor.dtype()) || !IsNumeric(dtype)) return std::nullopt;
  Result<Tensor> converted = Tensor::Allocate(dtype, tensor.shape());
  if (!converted.ok()) return std::nullopt;
  const bool rounds = IsFloating(tensor.dtype()) && IsFloating(dtype);
  const auto [low, high] = RangeOf(dtype);
  for (int64_t i = 0; i < tensor.element_count(); ++i) {
    const double value = ElementAt(tensor, i);
    if (!rounds && !(value >= low && value <= high)) return std::nullopt;
    SetElement(*converted, i, value);
    if (!rounds && ElementAt(*converted, i) != value) return std::nullopt;
  }
  return std::move(converted).value();
}

Tensor AsBits(Tensor tensor, DType declared) {
  if (tensor.dtype() != DType::kUint16 || declared != DType::kBFloat16) return tensor;
  Result<Tensor> same =
      Tensor::Wrap(declared, tensor.shape(), tensor.mutable_data(), tensor.byte_size(), tensor.owner());
  return same.ok() ? std::move(same).value() : tensor;
}

std::optional<Tensor> RepeatElement(const Tensor& tensor, const Shape& shape) {
  const size_t size = SizeOf(tensor.dtype());
  if (tensor.element_count() != 1 || size == 0) return std::nullopt;
  Result<Tensor> repeated = Tensor::Allocate(tensor.dtype(), shape);
  if (!repeated.ok()) return std::nullopt;
  auto* const to = static_cast<uint8_t*>(repeated->mutable_data());
  for (size_t at = 0; at < repeated->byte_size(); at += size) std::memcpy(to + at, tensor.data(), size);
  return std::move(repeated).value();
}

}  // namespace deputy::cli
