// Sessions: runs, requests and settings.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>
#include <vector>

#include "deputy.h"
#include "models.hpp"
#include "tensors.hpp"

namespace deputy::python {

namespace nb = nanobind;

// The inputs of a run, and the arrays that its outputs are written to.
struct Arguments {
  std::vector<Borrowed> inputs, outputs;
  std::vector<DeputyTensor> input_tensors, output_tensors;
  std::vector<nb::object> given;  // the objects of the outputs; invalid where the library allocates

  void Clear();
};

// Owns a handle of the library. All functions with the GIL, which those that take time release.
class Session {
 public:
  explicit Session(nb::object model);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  // A dict or a list of inputs; a dict of outputs by their names.
  nb::object Run(nb::handle inputs, nb::handle out, bool as_tensors);
  // Calls done(results, error) on a thread of the session.
  static uint64_t Submit(nb::object self, nb::handle inputs, nb::handle out, bool as_tensors, int64_t timeout_ns,
                         nb::object priority, nb::object done);

  void Resize(const std::vector<std::vector<int64_t>>& shapes);
  nb::any MeasurePlacement(nb::handle inputs, int64_t budget_ns, double margin, nb::object progress);
  void Bind(const std::string& name, const DeputyBuffer* buffer, bool is_input);

  DeputySession* get() const { return session_; }
  // A request is about to be delivered.
  void EndRequest() { --in_flight_; }
  const Model& model() const { return *model_; }

 private:
  friend class OneThread;
  nb::object RunValues(nb::handle inputs, nb::handle out, bool as_tensors);
  void Take(nb::handle inputs, nb::handle out, Arguments& arguments) const;
  void TakeInputs(nb::handle inputs, Arguments& arguments) const;
  void TakeOutputs(nb::handle out, Arguments& arguments) const;

  nb::object model_object_;
  const Model* model_;
  DeputySession* session_ = nullptr;
  Arguments arguments_;  // of runs, used again
  bool is_running_ = false;
  size_t in_flight_ = 0;  // requests whose callbacks have not begun
  std::vector<bool> bound_inputs_, bound_outputs_;
};

void AddSessions(nb::module_& module);
void AddBuffers(nb::module_& module, nb::class_<Session>& session);

}  // namespace deputy::python
