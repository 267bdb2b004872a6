// deputy._native: the C API as objects of Python. What programs use is in the Python files of the package.
#include <nanobind/nanobind.h>

#include "calls.hpp"
#include "contexts.hpp"
#include "models.hpp"
#include "sessions.hpp"
#include "tensors.hpp"
#include "tools.hpp"

NB_MODULE(_native, module) {
  using namespace deputy::python;
  // Objects that live until the interpreter ends are freed with the process.
  nb::set_leak_warnings(false);
  AddCalls(module);
  AddLog(module);
  AddTools(module);
  AddTensors(module);
  AddContexts(module);
  AddModels(module);
  AddSessions(module);
}
