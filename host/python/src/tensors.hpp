// Arrays of Python as tensors of the library, and the reverse, without copies where the memory allows it.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <vector>

#include "deputy.h"

namespace deputy::python {

namespace nb = nanobind;

// The memory of a Python object that the library reads, or writes, in place. Made and destroyed with the GIL; in
// between the object cannot resize or free it.
class Borrowed {
 public:
  Borrowed() = default;
  Borrowed(Borrowed&& other) noexcept;
  Borrowed& operator=(Borrowed&& other) noexcept;
  ~Borrowed();

  // An input. What is no dense array in the byte order of the machine becomes one, a copy; what is no array becomes
  // one of type `wanted`. The element type of an array is not changed: the library refuses a wrong one.
  static Borrowed Input(nb::handle object, DeputyDType wanted);
  // An output, of this type: a dense array that may be written. Throws TypeError.
  static Borrowed Output(nb::handle object, DeputyDType wanted);

  const DeputyTensor& tensor() const { return tensor_; }

 private:
  bool Export(nb::handle object, int flags);
  void ExportOther(nb::handle object, DeputyDType dtype, int flags);

  Py_buffer view_{};
  std::vector<int64_t> shape_;  // where the object has another one
  DeputyTensor tensor_{};
};

// An array in the memory of the tensor, whose reference it takes over; throws without doing so.
nb::object ArrayOf(DeputyTensor& tensor);
// The same of memory that `tensor` does not own.
nb::object CopyOf(const DeputyTensor& tensor);
// A deputy.Tensor, which is for DLPack.
nb::object TensorOf(DeputyTensor& tensor);

std::vector<int64_t> ShapeOf(nb::handle shape);
DeputyDType DTypeOf(const char* name);

void AddTensors(nb::module_& module);

}  // namespace deputy::python
