// Attention and RotaryEmbedding, each as a node would run. Expected numbers are those of the ONNX reference
// implementation.
#include "unit/cpu/expect_floats.hpp"

namespace deputy::host {
namespace {

const Tensor kNoInput;

Tensor Queries() { return TensorOf<float>({1, 1, 2, 2}, {1, 0, 0, 1}); }
Tensor Keys() { return TensorOf<float>({1, 1, 3, 2}, {1, 0, 0, 2, 1, 1}); }
Tensor Values() { return TensorOf<float>({1, 1, 3, 2}, {1, 2, 3, 4, 5, 6}); }

TEST(Attention, EveryQuerySeesEveryKey) {
  ExpectFloats(RunNode(MakeAttention, PrimitiveBuilder("", "Attention", 23), {Queries(), Keys(), Values()})[0],
               {3, 4, 3.287932f, 4.287932f});
}

TEST(Attention, CausalQueriesSeeNoLaterKeys) {
  const PrimitiveBuilder builder = PrimitiveBuilder("", "Attention", 23).Set("is_causal", int64_t{1});
  ExpectFloats(RunNode(MakeAttention, builder, {Queries(), Keys(), Values()})[0], {1, 2, 2.60886f, 3.60886f});
}

TEST(Attention, MaskThatHidesEverythingGivesZeros) {
  const std::vector<Tensor> out =
      RunNode(MakeAttention, PrimitiveBuilder("", "Attention", 23),
              {Queries(), Keys(), Values(), TensorOf<uint8_t>({2, 3}, {1, 0, 0, 0, 0, 0}, DType::kBool)});
  ExpectFloats(out[0], {1, 2, 0, 0});
}

TEST(Attention, PastKeysComeFirst) {
  const std::vector<Tensor> out =
      RunNode(MakeAttention, PrimitiveBuilder("", "Attention", 23).Set("is_causal", int64_t{1}),
              {TensorOf<float>({1, 1, 1, 2}, {0, 1}), TensorOf<float>({1, 1, 1, 2}, {1, 1}),
               TensorOf<float>({1, 1, 1, 2}, {5, 6}), kNoInput, TensorOf<float>({1, 1, 2, 2}, {1, 0, 0, 2}),
               TensorOf<float>({1, 1, 2, 2}, {1, 2, 3, 4})},
              {.outputs = 3, .constants = {}});
  ExpectFloats(out[0], {3.287932f, 4.287932f});
  EXPECT_EQ(out[1].shape(), (Shape{1, 1, 3, 2}));
  ExpectFloats(out[1], {1, 0, 0, 2, 1, 1});
  ExpectFloats(out[2], {1, 2, 3, 4, 5, 6});
}

TEST(Attention, HeadsInsideTheRowsShareKeys) {
  // Two heads of queries, both the two queries of above, over one head of keys.
  const PrimitiveBuilder builder =
      PrimitiveBuilder("", "Attention", 23).Set("q_num_heads", int64_t{2}).Set("kv_num_heads", int64_t{1});
  const std::vector<Tensor> out =
      RunNode(MakeAttention, builder,
              {TensorOf<float>({1, 1, 4}, {1, 0, 0, 1}), TensorOf<float>({1, 3, 2}, {1, 0, 0, 2, 1, 1}),
               TensorOf<float>({1, 3, 2}, {1, 2, 3, 4, 5, 6})});
  EXPECT_EQ(out[0].shape(), (Shape{1, 1, 4}));
  ExpectFloats(out[0], {3, 4, 3.287932f, 4.287932f});
}

std::vector<Tensor> Turned() {
  return {TensorOf<float>({1, 1, 1, 4}, {1, 2, 3, 4}), TensorOf<float>({2, 2}, {1, 1, 0, 0.5f}),
          TensorOf<float>({2, 2}, {0, 0, 1, 0.5f}), TensorOf<int64_t>({1, 1}, {1})};
}

TEST(RotaryEmbedding, PairsAreHalvesApart) {
  ExpectFloats(RunNode(MakeRotaryEmbedding, PrimitiveBuilder("", "RotaryEmbedding", 23), Turned())[0], {-3, -1, 1, 3});
}

TEST(RotaryEmbedding, PairsAreNeighbours) {
  const PrimitiveBuilder builder = PrimitiveBuilder("", "RotaryEmbedding", 23).Set("interleaved", int64_t{1});
  ExpectFloats(RunNode(MakeRotaryEmbedding, builder, Turned())[0], {-2, 1, -0.5f, 3.5f});
}

TEST(RotaryEmbedding, PositionOutsideTheCacheIsRefused) {
  std::vector<Tensor> inputs = Turned();
  inputs[3] = TensorOf<int64_t>({1, 1}, {2});
  EXPECT_EQ(TryRunNode(MakeRotaryEmbedding, PrimitiveBuilder("", "RotaryEmbedding", 23), inputs).status().message(),
            "position 2 is outside [0, 1]");
}

}  // namespace
}  // namespace deputy::host
