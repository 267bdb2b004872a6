// Functions of deputy/element.hpp for programs, on the C API.
#pragma once

#include "deputy.h"
#include "deputy/detail/memory.hpp"
#include "deputy/element.hpp"

namespace deputy {

inline double ElementAt(const Tensor& tensor, int64_t index) {
  const DeputyTensor view = detail::ViewOf(tensor);
  return DeputyElementAt(&view, index);
}

inline void SetElement(Tensor& tensor, int64_t index, double value) {
  const DeputyTensor view = detail::ViewOf(tensor);
  DeputySetElement(&view, index, value);
}

}  // namespace deputy
