// Functions without a handle: the log, and the tools.
#pragma once

#include <nanobind/nanobind.h>

namespace deputy::python {

namespace nb = nanobind;

void AddLog(nb::module_& module);
void AddTools(nb::module_& module);

}  // namespace deputy::python
