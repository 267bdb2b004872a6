// Reports as objects of Python: maps are dict, lists are list, arrays numpy.ndarray.
#pragma once

#include <nanobind/nanobind.h>

#include "calls.hpp"
#include "deputy.h"
#include "errors.hpp"

namespace deputy::python {

namespace nb = nanobind;

// Frees the report.
nb::any TakeReport(DeputyReport* report);

// Calls `function`, which takes a DeputyReport** and returns a DeputyError*, without the GIL.
template <class F>
nb::any ReportOf(const F& function) {
  DeputyReport* report = nullptr;
  Check(Unlocked([&] { return function(&report); }));
  return TakeReport(report);
}

}  // namespace deputy::python
