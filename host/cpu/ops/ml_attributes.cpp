#include "cpu/ops/ml_attributes.hpp"

#include <numeric>

#include "cpu/ops/planned_kernel.hpp"
#include "kernels/cast.hpp"
#include "kernels/dispatch.hpp"
#include "tensor/shape.hpp"

namespace deputy::host {

ScoreTransform ReadTransform(const Primitive& primitive) {
  const std::string_view word = primitive.GetString("post_transform", "NONE");
  if (word == "SOFTMAX") return ScoreTransform::kSoftmax;
  if (word == "LOGISTIC") return ScoreTransform::kLogistic;
  if (word == "SOFTMAX_ZERO") return ScoreTransform::kSoftmaxZero;
  return word == "PROBIT" ? ScoreTransform::kProbit : ScoreTransform::kIdentity;
}

template <class T>
Result<std::vector<T>> RealsOf(const std::optional<Tensor>& tensor, std::string_view name) {
  std::vector<T> values;
  if (!tensor) return values;
  if (!IsFloating(tensor->dtype()))
    return Error(StatusCode::kModel, "attribute '{}' is a tensor of {}, expected floats", name,
                 NameOf(tensor->dtype()));
  values.resize(static_cast<size_t>(tensor->element_count()));
  FindConvert(tensor->dtype(), kDTypeOf<T>)(tensor->data(), values.data(), tensor->element_count());
  return values;
}

template <class T>
Result<std::vector<T>> ReadReals(const Primitive& primitive, const std::string& name) {
  const std::span<const float> list = primitive.GetFloats(name);
  const std::string as_tensor = name + "_as_tensor";
  DEPUTY_ASSIGN_OR_RETURN(std::vector<T> values, RealsOf<T>(primitive.GetTensor(as_tensor), as_tensor));
  if (!values.empty() && !list.empty())
    return Error(StatusCode::kModel, "attributes '{}' and '{}' are both given, expected one of them", name, as_tensor);
  if (values.empty()) values.assign(list.begin(), list.end());
  return values;
}

Result<std::vector<int64_t>> ReadClassLabels(const Primitive& primitive, std::string_view ints) {
  std::vector<int64_t> labels(primitive.GetStrings("classlabels_strings").size());
  std::iota(labels.begin(), labels.end(), int64_t{0});
  const std::span<const int64_t> given = primitive.GetInts(ints);
  if (!labels.empty() && !given.empty())
    return Error(StatusCode::kModel, "attributes 'classlabels_strings' and '{}' are both given, expected one of them",
                 ints);
  if (labels.empty()) labels.assign(given.begin(), given.end());
  if (labels.empty())
    return Error(StatusCode::kModel,
                 "attributes 'classlabels_strings' and '{}' are empty, expected the labels of the classes", ints);
  return labels;
}

Status CheckCount(std::string_view attribute, size_t count, size_t expected, std::string_view reason) {
  if (count == expected) return {};
  return Error(StatusCode::kModel, "attribute '{}' has {} elements, expected {}, {}", attribute, count, expected,
               reason);
}

Result<RowDims> ReadRowDims(const ConstView& x) {
  if (x.rank() == 0 || x.rank() > 2)
    return Error(StatusCode::kInvalidArgument, "X has shape {}, expected rank 1 or 2", ShapeToString(x.dims()));
  return RowDims{x.rank() == 1 ? 1 : x.dim(0), x.dim(x.rank() - 1)};
}

Result<RowDims> ReadRowDims(const ConstView& x, int64_t columns, std::string_view source) {
  DEPUTY_ASSIGN_OR_RETURN(const RowDims dims, ReadRowDims(x));
  if (dims.columns == columns) return dims;
  return Error(StatusCode::kInvalidArgument, "X has {} features, expected {}, {}", dims.columns, columns, source);
}

Status CheckRowInput(const KernelSpec& spec) {
  DEPUTY_RETURN_IF_ERROR(CheckRequired(spec));
  switch (spec.input_type(0).dtype) {
    case DType::kFloat32:
    case DType::kFloat64:
    case DType::kInt32:
    case DType::kInt64: return {};
    default: return UnsupportedDType(spec);
  }
}

template <class T>
RowReader<T>::RowReader(const ConstView& x) : data_(x.data<char>()), size_(static_cast<int64_t>(SizeOf(x.dtype()))) {
  if (x.dtype() != kDTypeOf<T>) convert_ = FindConvert(x.dtype(), kDTypeOf<T>);
}

template <class T>
const T* RowReader<T>::Read(int64_t first, int64_t count, T* copy) const {
  const char* const from = data_ + first * size_;
  if (convert_ == nullptr) return reinterpret_cast<const T*>(from);
  convert_(from, copy, count);
  return copy;
}

template Result<std::vector<float>> ReadReals(const Primitive&, const std::string&);
template Result<std::vector<double>> ReadReals(const Primitive&, const std::string&);
template Result<std::vector<float>> RealsOf(const std::optional<Tensor>&, std::string_view);
template Result<std::vector<double>> RealsOf(const std::optional<Tensor>&, std::string_view);
template class RowReader<float>;
template class RowReader<double>;

}  // namespace deputy::host
