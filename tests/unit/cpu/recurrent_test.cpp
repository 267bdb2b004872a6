// Recurrent cells against their definition in the operator's specification, computed here value by value in double.
#include "kernels/recurrent.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "base/aligned.hpp"
#include "base/cancellation.hpp"
#include "unit/cpu/run_node.hpp"

namespace deputy::host {
namespace {

using Doubles = std::vector<double>;
using Function = std::function<double(double)>;

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double Tanh(double x) { return std::tanh(x); }

struct Cell {
  std::string op;
  int64_t gates;
  int64_t steps = 4, batch = 3, input = 2, hidden = 3, directions = 1;
  bool reverse = false, bias = true, lengths = false, initial = true, peepholes = false;
  bool input_forget = false, linear_before_reset = false, batch_first = false;
  double clip = 0;
  Function f, g, h;
};

struct Sequence {
  Doubles x, w, r, b, h0, c0, p;
  std::vector<int32_t> lengths;
};

Doubles RandomValues(int64_t count, std::mt19937& random) {
  std::uniform_real_distribution<double> values(-1, 1);
  Doubles result(static_cast<size_t>(count));
  for (double& value : result) value = static_cast<double>(static_cast<float>(values(random)));
  return result;
}

Sequence RandomSequence(const Cell& s) {
  std::mt19937 random(11);
  const int64_t width = s.gates * s.hidden;
  Sequence q;
  q.x = RandomValues(s.steps * s.batch * s.input, random);
  q.w = RandomValues(s.directions * width * s.input, random);
  q.r = RandomValues(s.directions * width * s.hidden, random);
  q.b = RandomValues(s.bias ? s.directions * 2 * width : 0, random);
  q.h0 = RandomValues(s.initial ? s.directions * s.batch * s.hidden : 0, random);
  q.c0 = RandomValues(s.initial && s.gates == 4 ? s.directions * s.batch * s.hidden : 0, random);
  q.p = RandomValues(s.peepholes ? s.directions * 3 * s.hidden : 0, random);
  if (s.lengths)
    for (int64_t b = 0; b < s.batch; ++b) q.lengths.push_back(static_cast<int32_t>((b + s.steps - 1) % s.steps));
  return q;
}

struct Results {
  Doubles y, h, c;  // in layout 0
};

// One direction of one batch element; y may be written for steps that are there.
void Unroll(const Cell& s, const Sequence& q, int64_t d, int64_t n, Results& out) {
  const auto at = [](const Doubles& v, int64_t i) { return v.empty() ? 0.0 : v[static_cast<size_t>(i)]; };
  const int64_t width = s.gates * s.hidden, length = q.lengths.empty() ? s.steps : q.lengths[static_cast<size_t>(n)];
  const bool reverse = s.reverse || d == 1;
  Doubles h, c;
  for (int64_t j = 0; j < s.hidden; ++j) {
    h.push_back(at(q.h0, (d * s.batch + n) * s.hidden + j));
    c.push_back(at(q.c0, (d * s.batch + n) * s.hidden + j));
  }
  const auto clip = [&](double x) { return s.clip > 0 ? std::min(std::max(x, -s.clip), s.clip) : x; };
  for (int64_t step = 0; step < length; ++step) {
    const int64_t t = reverse ? length - 1 - step : step;
    const auto from_x = [&](int64_t gate, int64_t j) {
      double sum = at(q.b, d * 2 * width + gate * s.hidden + j);
      for (int64_t i = 0; i < s.input; ++i)
        sum += q.x[static_cast<size_t>((t * s.batch + n) * s.input + i)] *
               q.w[static_cast<size_t>((d * width + gate * s.hidden + j) * s.input + i)];
      return sum;
    };
    const auto from_h = [&](int64_t gate, int64_t j, const Doubles& state) {
      double sum = at(q.b, d * 2 * width + width + gate * s.hidden + j);
      for (int64_t i = 0; i < s.hidden; ++i)
        sum +=
            state[static_cast<size_t>(i)] * q.r[static_cast<size_t>((d * width + gate * s.hidden + j) * s.hidden + i)];
      return sum;
    };
    const auto peep = [&](int64_t gate, int64_t j) { return at(q.p, d * 3 * s.hidden + gate * s.hidden + j); };
    Doubles next_h(h.size()), next_c(c.size()), reset_h(h.size());
    for (int64_t j = 0; j < s.hidden && s.gates == 3; ++j)
      reset_h[static_cast<size_t>(j)] = s.f(clip(from_x(1, j) + from_h(1, j, h))) * h[static_cast<size_t>(j)];
    for (int64_t j = 0; j < s.hidden; ++j) {
      const size_t k = static_cast<size_t>(j);
      if (s.gates == 1) {
        next_h[k] = s.f(clip(from_x(0, j) + from_h(0, j, h)));
      } else if (s.gates == 3) {
        const double z = s.f(clip(from_x(0, j) + from_h(0, j, h))), r = s.f(clip(from_x(1, j) + from_h(1, j, h)));
        const double candidate = s.g(
            clip(s.linear_before_reset ? from_x(2, j) + r * from_h(2, j, h) : from_x(2, j) + from_h(2, j, reset_h)));
        next_h[k] = (1 - z) * candidate + z * h[k];
      } else {
        const double i = s.f(clip(from_x(0, j) + from_h(0, j, h) + peep(0, j) * c[k]));
        const double f = s.input_forget ? 1 - i : s.f(clip(from_x(2, j) + from_h(2, j, h) + peep(2, j) * c[k]));
        next_c[k] = f * c[k] + i * s.g(clip(from_x(3, j) + from_h(3, j, h)));
        const double o = s.f(clip(from_x(1, j) + from_h(1, j, h) + peep(1, j) * next_c[k]));
        next_h[k] = o * s.h(next_c[k]);
      }
      out.y[static_cast<size_t>(((t * s.directions + d) * s.batch + n) * s.hidden + j)] = next_h[k];
    }
    h = next_h;
    c = next_c;
  }
  for (int64_t j = 0; j < s.hidden && length > 0; ++j) {
    out.h[static_cast<size_t>((d * s.batch + n) * s.hidden + j)] = h[static_cast<size_t>(j)];
    out.c[static_cast<size_t>((d * s.batch + n) * s.hidden + j)] = c[static_cast<size_t>(j)];
  }
}

// Swaps axes 0 and 1 of [a, b, rest], or of [a, d, b, rest] the way layouts differ: batch to the front.
Doubles BatchFirst(const Doubles& values, int64_t outer, int64_t directions, int64_t batch, int64_t inner) {
  Doubles result(values.size());
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t d = 0; d < directions; ++d)
      for (int64_t n = 0; n < batch; ++n)
        for (int64_t i = 0; i < inner; ++i)
          result[static_cast<size_t>(((n * outer + o) * directions + d) * inner + i)] =
              values[static_cast<size_t>(((o * directions + d) * batch + n) * inner + i)];
  return result;
}

template <class T>
Tensor AsTensor(Shape shape, const Doubles& values) {
  if (values.empty()) return {};
  return TensorOf<T>(std::move(shape), std::vector<T>(values.begin(), values.end()));
}

template <class T>
void Check(const Cell& s, PrimitiveBuilder builder, double tolerance) {
  const Sequence q = RandomSequence(s);
  const int64_t width = s.gates * s.hidden;
  Results want;
  want.y.resize(static_cast<size_t>(s.steps * s.directions * s.batch * s.hidden));
  want.h.resize(static_cast<size_t>(s.directions * s.batch * s.hidden));
  want.c.resize(want.h.size());
  for (int64_t d = 0; d < s.directions; ++d)
    for (int64_t n = 0; n < s.batch; ++n) Unroll(s, q, d, n, want);

  Doubles x = q.x, h0 = q.h0, c0 = q.c0;
  Shape x_shape = {s.steps, s.batch, s.input}, state = {s.directions, s.batch, s.hidden};
  if (s.batch_first) {
    builder.Set("layout", int64_t{1});
    x_shape = {s.batch, s.steps, s.input};
    state = {s.batch, s.directions, s.hidden};
    x = BatchFirst(x, s.steps, 1, s.batch, s.input);
    if (!h0.empty()) h0 = BatchFirst(h0, 1, s.directions, s.batch, s.hidden);
    if (!c0.empty()) c0 = BatchFirst(c0, 1, s.directions, s.batch, s.hidden);
    want.y = BatchFirst(want.y, s.steps, s.directions, s.batch, s.hidden);
    want.h = BatchFirst(want.h, 1, s.directions, s.batch, s.hidden);
    want.c = BatchFirst(want.c, 1, s.directions, s.batch, s.hidden);
  }
  std::vector<Tensor> inputs = {AsTensor<T>(x_shape, x),
                                AsTensor<T>({s.directions, width, s.input}, q.w),
                                AsTensor<T>({s.directions, width, s.hidden}, q.r),
                                AsTensor<T>({s.directions, 2 * width}, q.b),
                                q.lengths.empty() ? Tensor() : TensorOf<int32_t>({s.batch}, q.lengths),
                                AsTensor<T>(state, h0)};
  if (s.gates == 4) {
    inputs.push_back(AsTensor<T>(state, c0));
    inputs.push_back(AsTensor<T>({s.directions, 3 * s.hidden}, q.p));
  }
  builder.Set("hidden_size", s.hidden);
  if (s.directions == 2)
    builder.Set("direction", "bidirectional");
  else if (s.reverse)
    builder.Set("direction", "reverse");
  const Maker make = s.gates == 1 ? MakeRNN : s.gates == 3 ? MakeGRU : MakeLSTM;
  const auto got = RunNode(make, builder, inputs, {.outputs = s.gates == 4 ? 3u : 2u});
  const auto expect = [&](const Tensor& tensor, const Doubles& expected, const char* what) {
    ASSERT_EQ(static_cast<size_t>(tensor.element_count()), expected.size()) << what;
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(static_cast<double>(tensor.values<T>()[i]), expected[i], tolerance) << what << " element " << i;
  };
  expect(got[0], want.y, "Y");
  expect(got[1], want.h, "Y_h");
  if (s.gates == 4) expect(got[2], want.c, "Y_c");
}

Cell Rnn() { return {.op = "RNN", .gates = 1, .f = Tanh, .g = nullptr, .h = nullptr}; }
Cell Gru() { return {.op = "GRU", .gates = 3, .f = Sigmoid, .g = Tanh, .h = nullptr}; }
Cell Lstm() { return {.op = "LSTM", .gates = 4, .f = Sigmoid, .g = Tanh, .h = Tanh}; }

PrimitiveBuilder Builder(const Cell& s) { return PrimitiveBuilder("", s.op, 14); }

// Every cell, with what they have in common.
class RecurrentOnCpu : public ::testing::TestWithParam<Cell> {};
INSTANTIATE_TEST_SUITE_P(Cells, RecurrentOnCpu, ::testing::Values(Rnn(), Gru(), Lstm()),
                         [](const auto& cell) { return cell.param.op; });

TEST_P(RecurrentOnCpu, Forward) { Check<float>(GetParam(), Builder(GetParam()), 2e-6); }

TEST_P(RecurrentOnCpu, ReverseRunsFromTheLastStep) {
  Cell s = GetParam();
  s.reverse = true;
  Check<float>(s, Builder(s), 2e-6);
}

TEST_P(RecurrentOnCpu, BothDirections) {
  Cell s = GetParam();
  s.directions = 2;
  Check<float>(s, Builder(s), 2e-6);
}

TEST_P(RecurrentOnCpu, WithoutBiasAndInitialState) {
  Cell s = GetParam();
  s.bias = s.initial = false;
  Check<float>(s, Builder(s), 2e-6);
}

TEST_P(RecurrentOnCpu, SequencesEndAtTheirLengths) {
  Cell s = GetParam();
  s.lengths = true;
  s.directions = 2;
  s.batch = 5;
  Check<float>(s, Builder(s), 2e-6);
}

TEST_P(RecurrentOnCpu, LayoutOneHasTheBatchFirst) {
  Cell s = GetParam();
  s.batch_first = true;
  s.directions = 2;
  s.lengths = true;
  Check<float>(s, Builder(s), 2e-6);
}

TEST_P(RecurrentOnCpu, ClipBoundsWhatTheActivationsSee) {
  Cell s = GetParam();
  s.clip = 0.25;
  Check<float>(s, Builder(s).Set("clip", 0.25f), 2e-6);
}

TEST_P(RecurrentOnCpu, OneSequenceAtATime) {
  Cell s = GetParam();
  s.batch = 1;
  s.hidden = 9;
  Check<float>(s, Builder(s), 2e-6);
}

TEST_P(RecurrentOnCpu, Float64KeepsItsDigits) { Check<double>(GetParam(), Builder(GetParam()), 1e-14); }

// The steps take many times as long as there is time; each on its own is short.
TEST_P(RecurrentOnCpu, StepsAreLeftOutOnceTheRunHasToEnd) {
  const int64_t gates = GetParam().gates;
  RecurrentCell cell;
  cell.kind = gates == 1 ? CellKind::kRnn : gates == 3 ? CellKind::kGru : CellKind::kLstm;
  const RecurrentShape shape{.steps = 100000, .batch = 1, .input = 1, .hidden = 16};
  const std::vector<float> x(100000, 0.5f), w(static_cast<size_t>(gates * 16)), r(w.size() * 16);
  std::vector<float> y(x.size() * 16, -77.0f);
  RecurrentData<float> data;
  data.x = x.data();
  data.w = w.data();
  data.r = r.data();
  data.y = y.data();
  ThreadPool pool(1);
  const auto workspace = AllocateAligned(RecurrentWorkspace<float>(cell, shape, pool));
  ASSERT_NE(workspace, nullptr);
  const CancellationToken stop{NowNs() + 1'000'000, nullptr};
  const CancellationScope scope(&stop);
  RunRecurrent(cell, shape, data, workspace.get(), pool);
  EXPECT_TRUE(scope.stopped());
  EXPECT_EQ(y.back(), -77.0f);
}

TEST_P(RecurrentOnCpu, LengthBeyondTheStepsIsRefused) {
  const Cell& s = GetParam();
  const Tensor w = Tensor::Allocate(DType::kFloat32, {1, s.gates, 1}).value();
  const auto y =
      TryRunNode(s.gates == 1   ? MakeRNN
                 : s.gates == 3 ? MakeGRU
                                : MakeLSTM,
                 Builder(s).Set("hidden_size", int64_t{1}),
                 {Tensor::Allocate(DType::kFloat32, {2, 1, 1}).value(), w, w, Tensor(), TensorOf<int32_t>({1}, {3})});
  EXPECT_EQ(y.status().message(), "a sequence length is 3, the input has 2 steps");
}

TEST(GruOnCpu, ResetMayActAfterTheProduct) {
  Cell s = Gru();
  s.linear_before_reset = true;
  s.directions = 2;
  Check<float>(s, Builder(s).Set("linear_before_reset", int64_t{1}), 2e-6);
}

TEST(LstmOnCpu, PeepholesSeeTheCell) {
  Cell s = Lstm();
  s.peepholes = true;
  s.directions = 2;
  Check<float>(s, Builder(s), 2e-6);
}

TEST(LstmOnCpu, ForgetGateMayBeCoupledToTheInput) {
  Cell s = Lstm();
  s.input_forget = true;
  Check<float>(s, Builder(s).Set("input_forget", int64_t{1}), 2e-6);
}

TEST(LstmOnCpu, ActivationsTakeTheirValuesInOrder) {
  Cell s = Lstm();
  s.f = [](double x) { return std::min(std::max(0.3 * x + 0.4, 0.0), 1.0); };
  s.g = [](double x) { return x >= 0 ? x : 0.1 * x; };
  s.h = [](double x) { return 0.7 * x + 0.2; };
  const std::vector<std::string> names = {"HardSigmoid", "leakyrelu", "Affine"};
  Check<float>(s,
               Builder(s)
                   .Set("activations", names)
                   .Set("activation_alpha", std::vector<float>{0.3f, 0.1f, 0.7f})
                   .Set("activation_beta", std::vector<float>{0.4f, 0.2f}),
               2e-6);
}

struct ActivationCase {
  const char* name;
  double (*function)(double);
};
class ActivationOnCpu : public ::testing::TestWithParam<ActivationCase> {};
INSTANTIATE_TEST_SUITE_P(
    Defaults, ActivationOnCpu,
    ::testing::Values(ActivationCase{"Sigmoid", Sigmoid}, ActivationCase{"Tanh", Tanh},
                      ActivationCase{"Relu", [](double x) { return std::max(x, 0.0); }},
                      ActivationCase{"LeakyRelu", [](double x) { return x < 0 ? 0.01 * x : x; }},
                      ActivationCase{"ThresholdedRelu", [](double x) { return x > 1 ? x : 0.0; }},
                      ActivationCase{"HardSigmoid",
                                     [](double x) { return std::min(std::max(0.2 * x + 0.5, 0.0), 1.0); }},
                      ActivationCase{"Elu", [](double x) { return x < 0 ? std::exp(x) - 1 : x; }},
                      ActivationCase{"Softsign", [](double x) { return x / (1 + std::fabs(x)); }},
                      ActivationCase{"Softplus", [](double x) { return std::log(1 + std::exp(x)); }}),
    [](const auto& activation) { return std::string(activation.param.name); });

TEST_P(ActivationOnCpu, HasTheValuesOfItsDefinition) {
  Cell s = Rnn();
  s.f = GetParam().function;
  Check<float>(s, Builder(s).Set("activations", std::vector<std::string>{GetParam().name}), 5e-6);
}

TEST(RecurrentActivations, UnknownNameIsNotSupported) {
  const Tensor w = Tensor::Allocate(DType::kFloat32, {1, 1, 1}).value();
  EXPECT_EQ(TryRunNode(MakeRNN,
                       PrimitiveBuilder("", "RNN", 14)
                           .Set("hidden_size", int64_t{1})
                           .Set("activations", std::vector<std::string>{"Gelu"}),
                       {w, w, w}, {.outputs = 2})
                .status()
                .code(),
            StatusCode::kNotSupported);
}

TEST(RecurrentActivations, TooFewForBothDirectionsAreRefused) {
  const Tensor w = Tensor::Allocate(DType::kFloat32, {2, 1, 1}).value();
  const Tensor x = Tensor::Allocate(DType::kFloat32, {1, 1, 1}).value();
  EXPECT_FALSE(TryRunNode(MakeRNN,
                          PrimitiveBuilder("", "RNN", 14)
                              .Set("direction", "bidirectional")
                              .Set("activations", std::vector<std::string>{"Tanh"}),
                          {x, w, w}, {.outputs = 2})
                   .ok());
}

// Numbers computed with ONNX Runtime, so that the definition above is not this project's opinion alone.
struct RecordedCase {
  const char* name;
  Maker make;
  int64_t gates;
  bool linear_before_reset;
  std::vector<float> y;
};
class RecordedOnCpu : public ::testing::TestWithParam<RecordedCase> {};
INSTANTIATE_TEST_SUITE_P(
    Cells, RecordedOnCpu,
    ::testing::Values(
        RecordedCase{"LSTM", MakeLSTM, 4, false, {-0.01913996f, -0.07982014f, -0.00114628f, -0.11612526f}},
        RecordedCase{"GRU", MakeGRU, 3, false, {-0.13390638f, 0.34596398f, 0.03626500f, 0.38297510f}},
        RecordedCase{"GRU", MakeGRU, 3, true, {-0.13390638f, 0.29969889f, 0.02920646f, 0.28841040f}},
        RecordedCase{"RNN", MakeRNN, 1, false, {0.30270982f, -0.30270970f, -0.10000342f, -0.22160053f}}),
    [](const auto& cell) { return std::string(cell.param.name) + (cell.param.linear_before_reset ? "Linear" : ""); });

TEST_P(RecordedOnCpu, GivesTheRecordedValues) {
  const int64_t width = 2 * GetParam().gates;
  const auto sawtooth = [](int64_t count, int64_t period, float divisor, float offset) {
    std::vector<float> values;
    for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>(i % period) / divisor - offset);
    return values;
  };
  PrimitiveBuilder builder("", GetParam().name, 14);
  builder.Set("hidden_size", int64_t{2});
  if (GetParam().linear_before_reset) builder.Set("linear_before_reset", int64_t{1});
  const auto y = RunNode(GetParam().make, builder,
                         {TensorOf<float>({2, 1, 2}, sawtooth(4, 4, 4, 0.5f)),
                          TensorOf<float>({1, width, 2}, sawtooth(2 * width, 5, 4, 0.5f)),
                          TensorOf<float>({1, width, 2}, sawtooth(2 * width, 7, 8, 0.4f)),
                          TensorOf<float>({1, 2 * width}, sawtooth(2 * width, 3, 4, 0.25f))});
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(y[0].values<float>()[i], GetParam().y[i], 1e-6) << "element " << i;
}

}  // namespace
}  // namespace deputy::host
