// OneHot before opset 11 treated negative indices as out of range, which are off everywhere; later they count from the
// end.
#include <algorithm>

#include "graph/upgrade/rewrite.hpp"

namespace deputy::host {
namespace {

template <class T>
Result<Tensor> Scalar(DType dtype, T value) {
  return Tensor::FromValues<T>(dtype, {}, std::span<const T>(&value, 1));
}

// Zero and a number beyond every depth, in the type of the indices; empty where the type cannot hold such a number.
Result<std::pair<Tensor, Tensor>> Bounds(DType dtype) {
  const auto pair = [](Result<Tensor> zero, Result<Tensor> beyond) -> Result<std::pair<Tensor, Tensor>> {
    if (!zero.ok()) return std::move(zero).status();
    if (!beyond.ok()) return std::move(beyond).status();
    return std::pair(*zero, *beyond);
  };
  switch (dtype) {
    case DType::kInt64: return pair(Scalar<int64_t>(dtype, 0), Scalar(dtype, INT64_MAX));
    case DType::kInt32: return pair(Scalar<int32_t>(dtype, 0), Scalar(dtype, INT32_MAX));
    case DType::kFloat32: return pair(Scalar<float>(dtype, 0), Scalar<float>(dtype, 0x1p62f));
    case DType::kFloat64: return pair(Scalar<double>(dtype, 0), Scalar<double>(dtype, 0x1p62));
    default: return Error(StatusCode::kInternal, "indices of dtype {} are not supported", NameOf(dtype));
  }
}

bool HoldsBounds(DType dtype) {
  return dtype == DType::kInt64 || dtype == DType::kInt32 || dtype == DType::kFloat32 || dtype == DType::kFloat64;
}

bool IsFloating(DType dtype) {
  return dtype == DType::kFloat16 || dtype == DType::kBFloat16 || dtype == DType::kFloat32 || dtype == DType::kFloat64;
}

bool IsUnsigned(DType dtype) {
  return dtype == DType::kUint8 || dtype == DType::kUint16 || dtype == DType::kUint32 || dtype == DType::kUint64;
}

}  // namespace

Status UpgradeOneHot(NodeRewrite& node) {
  DType dtype = node.input_type(0).dtype;
  if (!IsUnsigned(dtype) && !KnownNotNegative(node.constant(0))) {
    if (dtype == DType::kUndefined)
      return Error(StatusCode::kNotSupported, "OneHot version 9 with indices of unknown dtype is not supported");
    if (!HoldsBounds(dtype)) {
      dtype = IsFloating(dtype) ? DType::kFloat32 : DType::kInt64;
      node.SetInput(0, node.AddBefore("wide", PrimitiveBuilder("", "Cast", 13).Set("to", static_cast<int64_t>(dtype)),
                                      {node.input(0)}));
    }
    DEPUTY_ASSIGN_OR_RETURN(const auto bounds, Bounds(dtype));
    const ValueId indices = node.input(0), zero = node.AddConstant("zero", bounds.first),
                  beyond = node.AddConstant("beyond", bounds.second);
    const ValueId negative = node.AddBefore("negative", PrimitiveBuilder("", "Less", 13), {indices, zero});
    node.SetInput(0, node.AddBefore("indices", PrimitiveBuilder("", "Where", 16), {negative, beyond, indices}));
  }
  node.SetVersion(11);
  return {};
}

}  // namespace deputy::host
