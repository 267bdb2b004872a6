// Errors of the library as exceptions of the package.
#pragma once

#include <nanobind/nanobind.h>

#include "deputy.h"

namespace deputy::python {

namespace nb = nanobind;

// The exception for an error, which stays the caller's. With the GIL.
nb::object ExceptionOf(const DeputyError* error);
// Frees the error, and throws its exception; does nothing for NULL. With the GIL.
void Check(DeputyError* error);
// Throws the exception of this code. With the GIL.
[[noreturn]] void Raise(DeputyCode code, const char* message, const char* advice = "");

}  // namespace deputy::python
