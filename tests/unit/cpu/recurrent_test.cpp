// Recurrent cells: sequences of no steps, names of activations, runs that end early.
#include "kernels/recurrent.hpp"

#include "base/aligned.hpp"
#include "base/cancellation.hpp"
#include "unit/cpu/run_node.hpp"

namespace deputy::host {
namespace {

struct Cell {
  std::string op;
  int64_t gates;
  Maker make;
  CellKind kind;
};
class RecurrentOnCpu : public ::testing::TestWithParam<Cell> {};
INSTANTIATE_TEST_SUITE_P(Cells, RecurrentOnCpu,
                         ::testing::Values(Cell{"RNN", 1, MakeRNN, CellKind::kRnn},
                                           Cell{"GRU", 3, MakeGRU, CellKind::kGru},
                                           Cell{"LSTM", 4, MakeLSTM, CellKind::kLstm}),
                         [](const auto& cell) { return cell.param.op; });

Tensor Sawtooth(Shape shape, int64_t period) {
  Tensor tensor = Zeros(std::move(shape));
  int64_t next = 0;
  for (float& value : tensor.mutable_values<float>()) value = static_cast<float>(next++ % period) / 8 - 0.375f;
  return tensor;
}

// Beside another that is as long as the input, which must give what it gives alone.
TEST_P(RecurrentOnCpu, SequenceWithoutStepsGivesZeros) {
  const int64_t width = 3 * GetParam().gates;
  const PrimitiveBuilder builder = PrimitiveBuilder("", GetParam().op, 14).Set("hidden_size", int64_t{3});
  const Tensor w = Sawtooth({1, width, 2}, 5), r = Sawtooth({1, width, 3}, 7);
  const Tensor alone = TensorOf<float>({2, 1, 2}, {0.5f, -1, 2, 0.25f});
  const Tensor beside = TensorOf<float>({2, 2, 2}, {9, 9, 0.5f, -1, 9, 9, 2, 0.25f});
  const auto expected = RunNode(GetParam().make, builder, {alone, w, r}, {.outputs = 2});
  const auto got =
      RunNode(GetParam().make, builder, {beside, w, r, Tensor(), TensorOf<int32_t>({2}, {0, 2})}, {.outputs = 2});
  const std::vector<float> y = ValuesOf<float>(expected[0]), h = ValuesOf<float>(expected[1]);
  EXPECT_NE(h, (std::vector<float>(3, 0)));
  EXPECT_EQ(ValuesOf<float>(got[0]), (std::vector<float>{0, 0, 0, y[0], y[1], y[2], 0, 0, 0, y[3], y[4], y[5]}));
  EXPECT_EQ(ValuesOf<float>(got[1]), (std::vector<float>{0, 0, 0, h[0], h[1], h[2]}));
}

// The steps take many times as long as there is time; each on its own is short.
TEST_P(RecurrentOnCpu, StepsAreLeftOutOnceTheRunHasToEnd) {
  const int64_t gates = GetParam().gates;
  RecurrentCell cell;
  cell.kind = GetParam().kind;
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
  const Tensor w = Zeros({1, GetParam().gates, 1});
  const PrimitiveBuilder builder = PrimitiveBuilder("", GetParam().op, 14).Set("hidden_size", int64_t{1});
  EXPECT_EQ(Failure(GetParam().make, builder, {Zeros({2, 1, 1}), w, w, Tensor(), TensorOf<int32_t>({1}, {3})}),
            "sequence_lens has the value 3, expected 0 to 2");
}

TEST(RecurrentActivations, NamesAreReadWithoutRegardToCase) {
  const auto run = [](const char* name) {
    const PrimitiveBuilder builder = PrimitiveBuilder("", "RNN", 14)
                                         .Set("hidden_size", int64_t{1})
                                         .Set("activations", std::vector<std::string>{name})
                                         .Set("activation_alpha", std::vector<float>{0.5f});
    return ValuesOf<float>(RunNode(
        MakeRNN, builder,
        {TensorOf<float>({1, 1, 1}, {-1}), TensorOf<float>({1, 1, 1}, {2}), TensorOf<float>({1, 1, 1}, {0})})[0]);
  };
  EXPECT_EQ(run("LeakyRelu"), (std::vector<float>{-1}));
  EXPECT_EQ(run("leakyrelu"), (std::vector<float>{-1}));
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

}  // namespace
}  // namespace deputy::host
