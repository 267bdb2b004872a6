#include "calls.hpp"
#include "errors.hpp"
#include "tools.hpp"

namespace deputy::python {
namespace {

PyObject* sink = nullptr;  // what takes the log; with the GIL

void Log(void*, DeputyLogLevel level, const char* source, const char* message) {
  const nb::gil_scoped_acquire locked;
  if (sink == nullptr) return;
  const nb::object called = nb::borrow(sink);
  try {
    called(level, source, message);
  } catch (nb::python_error& error) {
    error.restore();
    PyErr_WriteUnraisable(called.ptr());
  }
}

void SetLogSink(nb::object wanted) {
  PyObject* const previous = sink;
  sink = wanted.is_none() ? nullptr : wanted.inc_ref().ptr();
  // It waits for the previous sink, which needs the GIL.
  Check(Unlocked([&] { return DeputySetLogSink(wanted.is_none() ? nullptr : &Log, nullptr, nullptr); }));
  if (previous != nullptr) nb::handle(previous).dec_ref();
}

}  // namespace

void AddLog(nb::module_& module) { module.def("set_log_sink", &SetLogSink, nb::arg("sink").none()); }

}  // namespace deputy::python
