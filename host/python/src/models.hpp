// Models, and the names of their inputs and outputs as objects of Python.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <vector>

#include "deputy.h"

namespace deputy::python {

namespace nb = nanobind;

// An input or output.
struct Port {
  nb::object name;  // interned
  const DeputyValueInfo* info;
};

// Owns a handle of the library. Destroyed with the GIL.
class Model {
 public:
  explicit Model(DeputyModel* model);
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;
  ~Model();

  const DeputyModel* get() const { return model_; }
  const std::vector<Port>& inputs() const { return inputs_; }
  const std::vector<Port>& outputs() const { return outputs_; }
  // Whether an input or output is a sequence or an optional.
  bool has_values() const { return has_values_; }

 private:
  DeputyModel* model_;
  std::vector<Port> inputs_, outputs_;
  bool has_values_ = false;
};

void AddModels(nb::module_& module);

}  // namespace deputy::python
