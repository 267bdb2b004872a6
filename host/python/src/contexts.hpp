// Contexts: configurations with the delegates that they open.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <vector>

#include "deputy.h"

namespace deputy::python {

namespace nb = nanobind;

// Owns a handle of the library.
class Context {
 public:
  explicit Context(DeputyContext* context) : context_(context) {}
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context();

  const DeputyContext* get() const { return context_; }
  DeputyContext* get() { return context_; }

 private:
  DeputyContext* context_;
};

// The pointers to the texts, for functions that take a list of them.
std::vector<const char*> PointersTo(const std::vector<std::string>& texts);

void AddContexts(nb::module_& module);

}  // namespace deputy::python
