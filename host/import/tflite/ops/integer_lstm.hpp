// A step of UNIDIRECTIONAL_SEQUENCE_LSTM with activations and weights of 8 bits and cells of 16, in the integers in
// which LiteRT and TensorFlow Lite Micro compute it: their results are the same to the bit.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "import/tflite/operation.hpp"

namespace deputy::host::tflite_import {

struct IntegerLstm {
  const Operation& op;
  bool coupled = false, projects = false;
  const TensorInfo* input = nullptr;
  std::array<const TensorInfo*, 2> states{};  // of outputs and of cells
  const TensorInfo* hidden = nullptr;         // the output before the projection
  float cell_clip = 0, projection_clip = 0;   // 0: none

  // Whether the layer has the types for which integers are defined; otherwise it is computed in real numbers.
  Result<bool> Fits() const;
  // The states after the step: `x` and `before` are elements as they are stored.
  Result<std::array<ValueId, 2>> Step(Emitter& emit, ValueId x, const std::array<ValueId, 2>& before) const;

 private:
  class Writer;
};

}  // namespace deputy::host::tflite_import
