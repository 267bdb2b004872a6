#include "graph/inference/slicing.hpp"

#include <cmath>
#include <type_traits>

#include "base/checked.hpp"
#include "tensor/half.hpp"

namespace deputy::host {
namespace {

template <class T>
Result<int64_t> StepsBetween(T from, T to, T step) {
  if (step == T{0}) return Error(StatusCode::kModel, "delta must not be 0");
  if constexpr (std::is_floating_point_v<T>) {
    const double count = std::ceil(static_cast<double>(to - from) / static_cast<double>(step));
    if (!(count < 9.0e15))
      return Error(StatusCode::kModel, "the range from {} to {} by {} is too long or not finite", from, to, step);
    return count > 0 ? static_cast<int64_t>(count) : 0;
  } else {
    const bool up = step > 0;
    if (up ? from >= to : from <= to) return int64_t{0};
    // In uint64 no difference of two int64 overflows.
    const auto wide = [](T value) { return static_cast<uint64_t>(static_cast<int64_t>(value)); };
    const uint64_t distance = up ? wide(to) - wide(from) : wide(from) - wide(to);
    const uint64_t count = (distance - 1) / (up ? wide(step) : 0 - wide(step)) + 1;
    if (count > static_cast<uint64_t>(INT64_MAX))
      return Error(StatusCode::kModel, "the range from {} to {} by {} is too long", from, to, step);
    return static_cast<int64_t>(count);
  }
}

}  // namespace

Result<std::array<CropAxis, 2>> ReadCrop(const Primitive& primitive) {
  const std::span<const int64_t> border = primitive.GetInts("border"), size = primitive.GetInts("scale");
  if (border.size() != 4) return Error(StatusCode::kModel, "border has {} values, expected 4", border.size());
  if (!size.empty() && size.size() != 2)
    return Error(StatusCode::kModel, "scale has {} values, expected 2 (height and width)", size.size());
  for (const std::span<const int64_t> list : {border, size})
    for (const int64_t value : list)
      if (value < 0)
        return Error(StatusCode::kModel, "{} must not be negative, got {}", list.size() == 4 ? "border" : "scale",
                     value);
  // The attribute holds left, top, right, bottom.
  std::array<CropAxis, 2> axes = {CropAxis{border[1], border[3]}, CropAxis{border[0], border[2]}};
  for (size_t i = 0; i < size.size(); ++i) axes[i].size = size[i];
  return axes;
}

Result<int64_t> CroppedExtent(const CropAxis& axis, int64_t extent) {
  if (extent < 0) return axis.size >= 0 ? axis.size : axis.before == 0 && axis.after == 0 ? extent : kUnknownDim;
  const int64_t room = extent - axis.before;
  const int64_t cut = axis.size >= 0 ? axis.size : axis.after;
  if (room < 0 || room < cut)
    return Error(StatusCode::kModel, "cannot crop an extent of {}: {} before and {} {}", extent, axis.before, cut,
                 axis.size >= 0 ? "to keep" : "after");
  return axis.size >= 0 ? axis.size : room - axis.after;
}

Result<PadRange> ResolvePad(int64_t before, int64_t after, int64_t extent) {
  const int64_t first = before < 0 ? (before == INT64_MIN ? INT64_MAX : -before) : 0;
  const int64_t cut = after < 0 ? (after == INT64_MIN ? INT64_MAX : -after) : 0;
  // Cropping to below zero is only harmless when the other side pads; then there is no first kept element, so refuse.
  if (first > extent || cut > extent - first)
    return Error(StatusCode::kModel, "pads {} and {} crop more than the extent {}", before, after, extent);
  const int64_t kept = extent - first - cut;
  const std::optional<int64_t> widened = CheckedAdd(kept, std::max<int64_t>(before, 0));
  const std::optional<int64_t> total = widened ? CheckedAdd(*widened, std::max<int64_t>(after, 0)) : std::nullopt;
  if (!total) return Error(StatusCode::kModel, "the extent padded by {} and {} overflows", before, after);
  return PadRange{before, after, first, kept, *total};
}

Result<PadMode> PadModeOf(std::string_view name) {
  if (name == "constant") return PadMode::kConstant;
  if (name == "reflect") return PadMode::kReflect;
  if (name == "edge") return PadMode::kEdge;
  if (name == "wrap") return PadMode::kWrap;
  return Error(StatusCode::kModel, "mode must be constant, reflect, edge or wrap, got '{}'", name);
}

Result<int64_t> RangeCount(const Tensor& start, const Tensor& limit, const Tensor& delta) {
  for (const Tensor* tensor : {&start, &limit, &delta}) {
    if (tensor->dtype() != start.dtype())
      return Error(StatusCode::kModel, "start, limit and delta must have the same dtype");
    if (SizeOf(tensor->dtype()) == 0 || tensor->element_count() != 1)
      return Error(StatusCode::kModel, "start, limit and delta must be scalars");
  }
  const auto count = [&](auto of) { return StepsBetween(of(start), of(limit), of(delta)); };
  switch (start.dtype()) {
    case DType::kInt16: return count([](const Tensor& tensor) { return tensor.values<int16_t>()[0]; });
    case DType::kInt32: return count([](const Tensor& tensor) { return tensor.values<int32_t>()[0]; });
    case DType::kInt64: return count([](const Tensor& tensor) { return tensor.values<int64_t>()[0]; });
    case DType::kFloat16: return count([](const Tensor& tensor) { return ToFloat(tensor.values<Half>()[0]); });
    case DType::kBFloat16: return count([](const Tensor& tensor) { return ToFloat(tensor.values<BFloat16>()[0]); });
    case DType::kFloat32: return count([](const Tensor& tensor) { return tensor.values<float>()[0]; });
    case DType::kFloat64: return count([](const Tensor& tensor) { return tensor.values<double>()[0]; });
    default: return Error(StatusCode::kModel, "dtype {} is not supported", NameOf(start.dtype()));
  }
}

}  // namespace deputy::host
