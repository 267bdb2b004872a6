// deputy::ModelValue, the public value type, declared in host/include.
#include "deputy/model_value.hpp"

#include <utility>

#include "base/status.hpp"

namespace deputy {

Result<ModelValue> ModelValue::Sequence(DType dtype, std::vector<Tensor> elements) {
  for (size_t i = 0; i < elements.size(); ++i) {
    if (elements[i].empty()) return host::Error(StatusCode::kInvalidArgument, "element {} of a sequence is empty", i);
    if (elements[i].dtype() != dtype)
      return host::Error(StatusCode::kInvalidArgument, "element {} of a sequence of {} is {}", i, NameOf(dtype),
                         NameOf(elements[i].dtype()));
  }
  ModelValue value;
  value.dtype_ = dtype;
  value.elements_ = std::make_shared<const std::vector<Tensor>>(std::move(elements));
  return value;
}

const std::vector<Tensor>& ModelValue::elements() const {
  static const std::vector<Tensor> none;
  return elements_ == nullptr ? none : *elements_;
}

}  // namespace deputy
