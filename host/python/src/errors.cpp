#include "errors.hpp"

#include <memory>

namespace deputy::python {
namespace {

nb::object MakeException(DeputyCode code, const char* message, const char* place, const char* advice) {
  return nb::module_::import_("deputy.errors")
      .attr("error_of")(code, DeputyErrorCodeName(code), message, place, advice);
}

[[noreturn]] void Throw(const nb::object& exception) {
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
  throw nb::python_error();
}

}  // namespace

nb::object ExceptionOf(const DeputyError* error) {
  return MakeException(DeputyErrorCode(error), DeputyErrorMessage(error), DeputyErrorPlace(error),
                       DeputyErrorAdvice(error));
}

void Check(DeputyError* error) {
  if (error == nullptr) return;
  const std::unique_ptr<DeputyError, decltype(&DeputyErrorFree)> held(error, &DeputyErrorFree);
  Throw(ExceptionOf(error));
}

void Raise(DeputyCode code, const char* message, const char* advice) {
  Throw(MakeException(code, message, "", advice));
}

}  // namespace deputy::python
