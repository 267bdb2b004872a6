// The inputs of UNIDIRECTIONAL_SEQUENCE_LSTM.
#pragma once

#include <cstddef>

namespace deputy::host::tflite_import {

// The gates in the order of the operator's inputs; the first set of weights is omitted if the input gate is coupled to
// the forget gate.
enum LstmGate : size_t { kInput, kForget, kCell, kOutput };
inline constexpr size_t kGates = 4;
inline constexpr size_t kInputWeights = 1, kRecurrentWeights = 5, kPeepholes = 9, kBiases = 12, kProjectionWeights = 16,
                        kProjectionBias = 17, kOutputState = 18, kCellState = 19, kLayerNorm = 20;
inline constexpr size_t kHidden = 4;  // number of tensors that give the quantization of intermediate results

}  // namespace deputy::host::tflite_import
