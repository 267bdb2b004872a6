// RNN, GRU and LSTM: step by step and gate by gate, as in ONNX's equations; and ONNX Runtime's LSTM with dynamic
// quantization.
#include <algorithm>
#include <cmath>
#include <functional>

#include "reference/compose.hpp"

namespace deputy::conformance::reference {
namespace {

using Vector = std::vector<double>;

struct Activation {
  std::string name;
  double alpha = 0, beta = 0;

  double operator()(double x) const {
    if (name == "Relu") return std::max(0.0, x);
    if (name == "Tanh") return std::tanh(x);
    if (name == "Sigmoid") return 1 / (1 + std::exp(-x));
    if (name == "Affine") return alpha * x + beta;
    if (name == "LeakyRelu") return x < 0 ? alpha * x : x;
    if (name == "ThresholdedRelu") return x > alpha ? x : 0;
    if (name == "ScaledTanh") return alpha * std::tanh(beta * x);
    if (name == "HardSigmoid") return std::clamp(alpha * x + beta, 0.0, 1.0);
    if (name == "Elu") return x < 0 ? alpha * std::expm1(x) : x;
    if (name == "Softsign") return x / (1 + std::fabs(x));
    return std::log1p(std::exp(x));  // Softplus
  }
};

// A function that takes an alpha or a beta, and their defaults.
struct Parameters {
  const char* name;
  bool alpha, beta;
  double default_alpha, default_beta;
};
constexpr Parameters kParameters[] = {{"Affine", true, true, 1, 0},           {"LeakyRelu", true, false, 0.01f, 0},
                                      {"ThresholdedRelu", true, false, 1, 0}, {"ScaledTanh", true, true, 1, 1},
                                      {"HardSigmoid", true, true, 0.2f, 0.5}, {"Elu", true, false, 1, 0}};

// The activations of all directions in sequence. Alphas and betas are assigned in the order of the functions that have
// one.
std::vector<Activation> ActivationsOf(const Node& node, std::vector<std::string> defaults, size_t directions) {
  std::vector<std::string> names = node.Strings("activations", {});
  for (size_t i = 0; names.size() < defaults.size() * directions; ++i) names.push_back(defaults[i % defaults.size()]);
  const std::vector<float> alphas = node.Floats("activation_alpha", {}), betas = node.Floats("activation_beta", {});
  size_t next_alpha = 0, next_beta = 0;
  std::vector<Activation> made;
  for (const std::string& name : names) {
    Activation one{name};
    for (const Parameters& known : kParameters) {
      if (name != known.name) continue;
      one.alpha = known.default_alpha;
      one.beta = known.default_beta;
      if (known.alpha && next_alpha < alphas.size()) one.alpha = static_cast<double>(alphas[next_alpha++]);
      if (known.beta && next_beta < betas.size()) one.beta = static_cast<double>(betas[next_beta++]);
    }
    made.push_back(one);
  }
  return made;
}

// One direction at one step of one row of the batch.
struct Cell {
  const Node& node;
  const Inputs& in;
  int64_t direction = 0, hidden = 0, inputs = 0;
  const Activation* functions = nullptr;  // of this direction
  double clip = 0;

  double Activated(size_t function, double x) const {
    return functions[function](clip > 0 ? std::clamp(x, -clip, clip) : x);
  }
  // The share of the step's input, and that of the state, in unit `unit` of gate `gate`, each with its bias.
  double OfInput(int64_t gates, int64_t gate, int64_t unit, const Vector& x) const {
    const int64_t row = gate * hidden + unit;
    double sum = At(in, 3) == nullptr ? 0 : in[3]->Get(direction * 2 * gates * hidden + row);
    for (int64_t i = 0; i < inputs; ++i)
      sum += x[static_cast<size_t>(i)] * in[1]->Get((direction * gates * hidden + row) * inputs + i);
    return sum;
  }
  double OfState(int64_t gates, int64_t gate, int64_t unit, const Vector& h) const {
    const int64_t row = gate * hidden + unit;
    double sum = At(in, 3) == nullptr ? 0 : in[3]->Get((direction * 2 + 1) * gates * hidden + row);
    for (int64_t i = 0; i < hidden; ++i)
      sum += h[static_cast<size_t>(i)] * in[2]->Get((direction * gates * hidden + row) * hidden + i);
    return sum;
  }
  double Peephole(int64_t gate, int64_t unit, double c) const {
    return At(in, 7) == nullptr ? 0 : in[7]->Get((direction * 3 + gate) * hidden + unit) * c;
  }
};

void StepRnn(const Cell& cell, const Vector& x, Vector& h, Vector&) {
  const Vector before = h;
  for (int64_t u = 0; u < cell.hidden; ++u)
    h[static_cast<size_t>(u)] = cell.Activated(0, cell.OfInput(1, 0, u, x) + cell.OfState(1, 0, u, before));
}

// Gates: update z, reset r, hidden h.
void StepGru(const Cell& cell, const Vector& x, Vector& h, Vector&) {
  const Vector before = h;
  Vector reset(before.size()), kept(before.size());
  for (int64_t u = 0; u < cell.hidden; ++u) {
    const auto at = static_cast<size_t>(u);
    reset[at] = cell.Activated(0, cell.OfInput(3, 1, u, x) + cell.OfState(3, 1, u, before));
    kept[at] = reset[at] * before[at];
  }
  const bool linear = cell.node.Int("linear_before_reset", 0) != 0;
  for (int64_t u = 0; u < cell.hidden; ++u) {
    const auto at = static_cast<size_t>(u);
    const double update = cell.Activated(0, cell.OfInput(3, 0, u, x) + cell.OfState(3, 0, u, before));
    const double state = linear ? reset[at] * cell.OfState(3, 2, u, before) : cell.OfState(3, 2, u, kept);
    h[at] = (1 - update) * cell.Activated(1, cell.OfInput(3, 2, u, x) + state) + update * before[at];
  }
}

// Gates: input i, output o, forget f, cell c.
void StepLstm(const Cell& cell, const Vector& x, Vector& h, Vector& c) {
  const Vector before = h;
  const bool coupled = cell.node.Int("input_forget", 0) != 0;
  for (int64_t u = 0; u < cell.hidden; ++u) {
    const auto at = static_cast<size_t>(u);
    const auto gate = [&](int64_t which) { return cell.OfInput(4, which, u, x) + cell.OfState(4, which, u, before); };
    const double input = cell.Activated(0, gate(0) + cell.Peephole(0, u, c[at]));
    const double forget = coupled ? 1 - input : cell.Activated(0, gate(2) + cell.Peephole(2, u, c[at]));
    c[at] = forget * c[at] + input * cell.Activated(1, gate(3));
    // The limit is one of the gates' sums; the cell itself may be larger.
    h[at] = cell.Activated(0, gate(1) + cell.Peephole(1, u, c[at])) * cell.functions[2](c[at]);
  }
}

using Step = void (*)(const Cell& cell, const Vector& x, Vector& h, Vector& c);

// The numbers after quantization to 8 bits with one scale for all.
Tensor Rounded(const Tensor& x) {
  Node node;
  node.op_type = "DynamicQuantizeLinear";
  node.output_count = 3;
  const std::vector<Tensor> made = Compute(node, {&x});
  return InType(Reals(made[0], made[1], &made[2]), x.dtype);
}

// The states of a batch, quantized for a product in 8 bits. A sequence counts until the step after its last.
std::vector<Vector> RoundedStates(const std::vector<Vector>& states, const std::vector<int64_t>& lengths,
                                  int64_t step) {
  const auto hidden = static_cast<int64_t>(states.empty() ? 0 : states[0].size());
  Tensor flat(DEPUTY_DTYPE_FLOAT32, {static_cast<int64_t>(states.size()), hidden});
  for (size_t b = 0; b < states.size(); ++b)
    for (int64_t u = 0; u < hidden && step <= lengths[b]; ++u)
      flat.Put(static_cast<int64_t>(b) * hidden + u, states[b][static_cast<size_t>(u)]);
  flat = Rounded(flat);
  std::vector<Vector> rounded = states;
  for (size_t b = 0; b < states.size(); ++b)
    for (int64_t u = 0; u < hidden; ++u)
      rounded[b][static_cast<size_t>(u)] = flat.Get(static_cast<int64_t>(b) * hidden + u);
  return rounded;
}

// Y, Y_h and Y_c.
std::vector<Tensor> Recurrent(const Node& node, const Inputs& in, Step step, std::vector<std::string> defaults,
                              bool round_states = false) {
  const Tensor& x = *in[0];
  const bool batch_first = node.Int("layout", 0) != 0;
  const int64_t steps = x.dims[batch_first ? 1 : 0], batch = x.dims[batch_first ? 0 : 1];
  const int64_t directions = in[1]->dims[0], hidden = in[2]->dims[2];
  const size_t each = defaults.size();
  const std::vector<Activation> functions = ActivationsOf(node, std::move(defaults), static_cast<size_t>(directions));
  // Positions in tensors of states and of Y, whose order the layout decides.
  const auto state_at = [&](int64_t d, int64_t b) {
    return (batch_first ? b * directions + d : d * batch + b) * hidden;
  };
  const auto y_at = [&](int64_t t, int64_t d, int64_t b) {
    return (batch_first ? (b * steps + t) * directions + d : (t * directions + d) * batch + b) * hidden;
  };
  std::vector<int64_t> lengths;
  for (int64_t b = 0; b < batch; ++b)
    lengths.push_back(At(in, 4) != nullptr ? static_cast<int64_t>(in[4]->Get(b)) : steps);
  const Dims state_dims = batch_first ? Dims{batch, directions, hidden} : Dims{directions, batch, hidden};
  Tensor y(x.dtype, batch_first ? Dims{batch, steps, directions, hidden} : Dims{steps, directions, batch, hidden});
  Tensor last_h(x.dtype, state_dims), last_c(x.dtype, state_dims);
  for (int64_t d = 0; d < directions; ++d) {
    const Cell cell{node, in, d, hidden, x.dims[2], &functions[static_cast<size_t>(d) * each], node.Float("clip", 0)};
    const bool backwards = d == 1 || node.String("direction", "forward") == "reverse";
    const Vector zeros(static_cast<size_t>(hidden));
    std::vector<Vector> h(static_cast<size_t>(batch), zeros), c = h;
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t u = 0; u < hidden; ++u) {
        const auto row = static_cast<size_t>(b), at = static_cast<size_t>(u);
        if (At(in, 5) != nullptr) h[row][at] = in[5]->Get(state_at(d, b) + u);
        if (At(in, 6) != nullptr) c[row][at] = in[6]->Get(state_at(d, b) + u);
      }
    Vector from(static_cast<size_t>(x.dims[2]));
    for (int64_t i = 0; i < steps; ++i) {
      const std::vector<Vector> before = round_states ? RoundedStates(h, lengths, i) : h;
      for (int64_t b = 0; b < batch; ++b) {
        const auto row = static_cast<size_t>(b);
        if (i >= lengths[row]) continue;
        const int64_t t = backwards ? lengths[row] - 1 - i : i;
        for (int64_t k = 0; k < x.dims[2]; ++k)
          from[static_cast<size_t>(k)] = x.Get((batch_first ? b * steps + t : t * batch + b) * x.dims[2] + k);
        h[row] = before[row];
        step(cell, from, h[row], c[row]);
        for (int64_t u = 0; u < hidden; ++u) y.Put(y_at(t, d, b) + u, h[row][static_cast<size_t>(u)]);
      }
    }
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t u = 0; u < hidden; ++u) {
        last_h.Put(state_at(d, b) + u, h[static_cast<size_t>(b)][static_cast<size_t>(u)]);
        last_c.Put(state_at(d, b) + u, c[static_cast<size_t>(b)][static_cast<size_t>(u)]);
      }
  }
  std::vector<Tensor> outputs = {y, last_h, last_c};
  outputs.resize(std::min(node.output_count, outputs.size()));
  return outputs;
}

std::vector<Tensor> Rnn(const Node& node, const Inputs& in) { return Recurrent(node, in, StepRnn, {"Tanh"}); }
std::vector<Tensor> Gru(const Node& node, const Inputs& in) {
  return Recurrent(node, in, StepGru, {"Sigmoid", "Tanh"});
}
std::vector<Tensor> Lstm(const Node& node, const Inputs& in) {
  return Recurrent(node, in, StepLstm, {"Sigmoid", "Tanh", "Tanh"});
}

// [directions, inputs, gates * hidden] bytes as the reals of LSTM's weights, whose last two axes are the other way
// around. Scales and zero points are of a direction, or of each of its columns.
Tensor Weights(const Tensor& bytes, const Tensor& scale, const Tensor& zero) {
  const auto at = [](const Tensor& list, int64_t direction, int64_t column) {
    return list.rank() == 1 ? list.Get(direction) : list.Get(direction * list.dims[1] + column);
  };
  return Filled(DEPUTY_DTYPE_FLOAT64, {bytes.dims[0], bytes.dims[2], bytes.dims[1]}, [&](const Dims& index) {
    const double byte = bytes.Get(Flat(bytes.dims, {index[0], index[2], index[1]}));
    return (byte - at(zero, index[0], index[1])) * at(scale, index[0], index[1]);
  });
}

// ONNX Runtime's: X is rounded to 8 bits at once, as many steps as the longest sequence has, the state in each step.
std::vector<Tensor> DynamicQuantizeLstm(const Node& node, const Inputs& in) {
  Tensor x = *in[0], read = x;
  if (At(in, 4) != nullptr) {
    read.dims[0] = 0;
    for (int64_t b = 0; b < x.dims[1]; ++b) read.dims[0] = std::max(read.dims[0], static_cast<int64_t>(in[4]->Get(b)));
    read = Filled(x.dtype, read.dims, [&](const Dims& index) { return x.Get(Flat(x.dims, index)); });
  }
  read = Rounded(read);
  for (int64_t i = 0; i < read.count(); ++i) x.Put(i, read.Get(i));
  const Tensor w = Weights(*in[1], *in[8], *in[9]), r = Weights(*in[2], *in[10], *in[11]);
  Inputs reals(in.begin(), in.begin() + 8);
  reals[0] = &x;
  reals[1] = &w;
  reals[2] = &r;
  return Recurrent(node, reals, StepLstm, {"Sigmoid", "Tanh", "Tanh"}, /*round_states=*/true);
}

}  // namespace

KernelRows RecurrentKernels() {
  return {{"GRU", Gru}, {"LSTM", Lstm}, {"Microsoft_DynamicQuantizeLSTM", DynamicQuantizeLstm}, {"RNN", Rnn}};
}

}  // namespace deputy::conformance::reference
