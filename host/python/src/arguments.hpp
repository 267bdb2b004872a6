// What a program gives for inputs or outputs: by names or in order.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <vector>

#include "models.hpp"

namespace deputy::python {

namespace nb = nanobind;

// The objects that are given for ports: a dict by their names, a list or tuple in their order, or one object for the
// first. All functions with the GIL.
class Given {
 public:
  // `kind` is "input" or "output", for messages. Throws InvalidArgument where there are more objects than ports.
  Given(nb::handle given, const std::vector<Port>& ports, const char* kind);

  // For this port; invalid where there is none, or None. Each port is asked for once.
  nb::object At(size_t index);
  // The same, which throws InvalidArgument where there is none.
  nb::object Required(size_t index);
  // Throws InvalidArgument for a name that is none of a port, with the nearest one. After all ports.
  void CheckNames() const;
  // Throws InvalidArgument: there is nothing for this port, which may be since a name is wrong.
  [[noreturn]] void Refuse(size_t index) const;

 private:
  [[noreturn]] void RefuseCount() const;
  void RefuseNames() const;

  const std::vector<Port>& ports_;
  const char* kind_;
  nb::object dict_, list_;
  size_t used_ = 0;
};

}  // namespace deputy::python
