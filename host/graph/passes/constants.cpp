#include "graph/passes/constants.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "tensor/half.hpp"

namespace deputy::host {
namespace {

template <class T>
bool AllEqual(const Tensor& tensor, double number) {
  const auto is = [number](T element) {
    double value;
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
      value = static_cast<double>(ToFloat(element));
    } else {
      value = static_cast<double>(element);
    }
    return value == number && (!std::is_floating_point_v<T> || std::signbit(value) == std::signbit(number));
  };
  const std::span<const T> values = tensor.values<T>();
  return std::all_of(values.begin(), values.end(), is);
}

double Widen(float value) { return static_cast<double>(value); }
double Widen(double value) { return value; }
double Widen(Half value) { return static_cast<double>(ToFloat(value)); }
double Widen(BFloat16 value) { return static_cast<double>(ToFloat(value)); }

void Narrow(double value, float& out) { out = static_cast<float>(value); }
void Narrow(double value, double& out) { out = value; }
void Narrow(double value, Half& out) { out = ToHalf(value); }
void Narrow(double value, BFloat16& out) { out = ToBFloat16(value); }

// A tensor of `count` elements that `fill(T*)` writes. None: one of them is not finite.
template <class T, class Fill>
std::optional<Tensor> Made(DType dtype, const Shape& shape, size_t count, Fill fill) {
  Result<Tensor> made = Tensor::Allocate(dtype, shape);
  if (!made.ok() || made->byte_size() != count * sizeof(T)) return std::nullopt;
  const std::span<T> target = made->template mutable_values<T>();
  fill(target.data());
  if (!std::all_of(target.begin(), target.end(), [](T value) { return std::isfinite(Widen(value)); }))
    return std::nullopt;
  return std::move(made).value();
}

template <class T>
std::optional<Tensor> ScaledAs(const Tensor& tensor, size_t block, FunctionRef<double(size_t)> factor) {
  const std::span<const T> values = tensor.values<T>();
  return Made<T>(tensor.dtype(), tensor.shape(), values.size(), [&](T* out) {
    for (size_t begin = 0; begin < values.size(); begin += block) {
      const double by = factor(begin / block);
      const size_t end = std::min(begin + block, values.size());
      for (size_t i = begin; i < end; ++i) Narrow(Widen(values[i]) * by, out[i]);
    }
  });
}

}  // namespace

const Tensor* ConstantInput(const Graph& graph, const Node& node, size_t i) {
  if (!HasInput(node, i)) return nullptr;
  const Value& value = graph.values[node.inputs[i]];
  return value.is_constant() ? &value.constant : nullptr;
}

std::optional<std::vector<int64_t>> IntsOf(const Tensor* tensor) {
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

bool IsFloat(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat64 || dtype == DType::kFloat16 || dtype == DType::kBFloat16;
}

std::vector<double> DoublesOf(const Tensor* tensor) {
  std::vector<double> doubles;
  if (tensor == nullptr) return doubles;
  const auto take = [&doubles](const auto values) {
    doubles.reserve(values.size());
    for (const auto value : values) doubles.push_back(Widen(value));
  };
  switch (tensor->dtype()) {
    case DType::kFloat32: take(tensor->values<float>()); break;
    case DType::kFloat64: take(tensor->values<double>()); break;
    case DType::kFloat16: take(tensor->values<Half>()); break;
    case DType::kBFloat16: take(tensor->values<BFloat16>()); break;
    default: break;
  }
  return doubles;
}

std::optional<Tensor> FromDoubles(DType dtype, const Shape& shape, std::span<const double> values) {
  const auto fill = [values](auto* out) {
    for (size_t i = 0; i < values.size(); ++i) Narrow(values[i], out[i]);
  };
  switch (dtype) {
    case DType::kFloat32: return Made<float>(dtype, shape, values.size(), fill);
    case DType::kFloat64: return Made<double>(dtype, shape, values.size(), fill);
    case DType::kFloat16: return Made<Half>(dtype, shape, values.size(), fill);
    case DType::kBFloat16: return Made<BFloat16>(dtype, shape, values.size(), fill);
    default: return std::nullopt;
  }
}

std::optional<Tensor> Scaled(const Tensor& tensor, size_t block, FunctionRef<double(size_t)> factor) {
  switch (tensor.dtype()) {
    case DType::kFloat32: return ScaledAs<float>(tensor, block, factor);
    case DType::kFloat64: return ScaledAs<double>(tensor, block, factor);
    case DType::kFloat16: return ScaledAs<Half>(tensor, block, factor);
    case DType::kBFloat16: return ScaledAs<BFloat16>(tensor, block, factor);
    default: return std::nullopt;
  }
}

bool IsAll(const Tensor& tensor, double number) {
  switch (tensor.dtype()) {
    case DType::kFloat32: return AllEqual<float>(tensor, number);
    case DType::kFloat64: return AllEqual<double>(tensor, number);
    case DType::kFloat16: return AllEqual<Half>(tensor, number);
    case DType::kBFloat16: return AllEqual<BFloat16>(tensor, number);
    case DType::kInt8: return AllEqual<int8_t>(tensor, number);
    case DType::kInt16: return AllEqual<int16_t>(tensor, number);
    case DType::kInt32: return AllEqual<int32_t>(tensor, number);
    case DType::kInt64: return AllEqual<int64_t>(tensor, number);
    case DType::kUint8: return AllEqual<uint8_t>(tensor, number);
    case DType::kUint16: return AllEqual<uint16_t>(tensor, number);
    case DType::kUint32: return AllEqual<uint32_t>(tensor, number);
    case DType::kUint64: return AllEqual<uint64_t>(tensor, number);
    default: return false;
  }
}

bool SameExtents(const ValueType& a, const ValueType& b) {
  return a.ranked && b.ranked && a.dims == b.dims &&
         std::find(a.dims.begin(), a.dims.end(), kUnknownDim) == a.dims.end();
}

}  // namespace deputy::host
