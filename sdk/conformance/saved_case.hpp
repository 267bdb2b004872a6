// A failing case as files that a vendor can be sent: a folder in the layout of ONNX's backend tests, with model, inputs
// and expected outputs, which `deputy test-case` runs.
#pragma once

#include <string>

#include "onnx_model.hpp"
#include "test.hpp"

namespace deputy::conformance {

// Writes the folder before the case is run, so that it is there after a crash, and removes it when the case has not
// failed. Does nothing without --save-failures.
class SavedCase {
 public:
  SavedCase(const TestRun& run, const std::string& label, const ModelCase& model);
  SavedCase(const TestRun& run, const Case& tested);
  ~SavedCase();
  SavedCase(const SavedCase&) = delete;
  SavedCase& operator=(const SavedCase&) = delete;

 private:
  void Write(const std::string& label, const ModelCase& model);

  const TestRun& run_;
  const size_t failures_;
  std::string folder_;  // "": nothing was written
};

}  // namespace deputy::conformance
