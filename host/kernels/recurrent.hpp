// The recurrent cells of ONNX: RNN, GRU and LSTM over whole sequences, in one or both directions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/thread_pool.hpp"

namespace deputy::host {

enum class CellKind { kRnn, kGru, kLstm };
constexpr int64_t GateCount(CellKind cell) { return cell == CellKind::kRnn ? 1 : cell == CellKind::kGru ? 3 : 4; }
constexpr size_t ActivationCount(CellKind cell) { return cell == CellKind::kRnn ? 1 : cell == CellKind::kGru ? 2 : 3; }

enum class ActivationKind {
  kSigmoid,
  kTanh,
  kRelu,
  kAffine,
  kLeakyRelu,
  kThresholdedRelu,
  kScaledTanh,
  kHardSigmoid,
  kElu,
  kSoftsign,
  kSoftplus,
};

struct Activation {
  ActivationKind kind = ActivationKind::kTanh;
  float alpha = 0, beta = 0;
};

struct RecurrentCell {
  CellKind kind = CellKind::kRnn;
  int64_t directions = 1;
  bool reverse = false;                                  // a single direction, from the last step to the first
  bool batch_first = false;                              // layout 1
  bool input_forget = false;                             // LSTM: the forget gate is 1 - the input gate
  bool linear_before_reset = false;                      // GRU: the reset gate acts after the recurrent product
  bool round_state = false;                              // LSTM of float: products take the state in 8 bits
  float clip = 0;                                        // bound of the activations' inputs; 0: none
  std::array<std::array<Activation, 3>, 2> activations;  // of each direction: f, g, h
};

struct RecurrentShape {
  int64_t steps = 0, batch = 0, input = 0, hidden = 0;
};

// Layouts are those of the operator's specification.
template <class T>
struct RecurrentData {
  const T* x = nullptr;
  const T* w = nullptr;
  const T* r = nullptr;
  const T* bias = nullptr;           // or null
  const int32_t* lengths = nullptr;  // or null: all steps; each within [0, steps]
  const T* initial_h = nullptr;      // or null: zero
  const T* initial_c = nullptr;      // or null: zero
  const T* peepholes = nullptr;      // or null
  T* y = nullptr;                    // or null
  T* y_h = nullptr;                  // or null
  T* y_c = nullptr;                  // or null
};

// The products of the first `gates * hidden` rows of W with all of x, and with the state of one step, for each
// direction.
template <class T>
size_t RecurrentWorkspace(const RecurrentCell& cell, const RecurrentShape& shape, const ThreadPool& pool);
template <class T>
void RunRecurrent(const RecurrentCell& cell, const RecurrentShape& shape, const RecurrentData<T>& data, void* workspace,
                  ThreadPool& pool);

}  // namespace deputy::host
