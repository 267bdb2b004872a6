// The attention operators of ONNX and of com.microsoft, each as a node would run. The numbers of the latter are those
// of ONNX Runtime 1.31, of cases that tests/integration/microsoft_operators_test.py does not draw.
#include "unit/cpu/run_node.hpp"

namespace deputy::host {
namespace {

TEST(Attention, MaskThatHidesEverythingGivesZeros) {
  const std::vector<Tensor> out = RunNode(
      MakeAttention, PrimitiveBuilder("", "Attention", 23),
      {TensorOf<float>({1, 1, 2, 2}, {1, 0, 0, 1}), TensorOf<float>({1, 1, 3, 2}, {1, 0, 0, 2, 1, 1}),
       TensorOf<float>({1, 1, 3, 2}, {1, 2, 3, 4, 5, 6}), TensorOf<uint8_t>({2, 3}, {1, 0, 0, 0, 0, 0}, DType::kBool)});
  ExpectFloats(out[0], {1, 2, 0, 0});
}

Tensor Attended(const Tensor& mask) {
  const PrimitiveBuilder builder = PrimitiveBuilder("com.microsoft", "Attention", 1).Set("num_heads", int64_t{1});
  return RunNode(MakeMicrosoft_Attention, builder,
                 {TensorOf<float>({1, 3, 2}, {-1.25f, 0.5f, -0.5f, 1.25f, 0.25f, -0.75f}),
                  TensorOf<float>({2, 6}, {-1.25f, 0, 1.25f, -0.25f, 1, -0.5f, 0.75f, -0.75f, 0.5f, -1, 0.25f, -1.25f}),
                  TensorOf<float>({6}, {-1.25f, -0.5f, 0.25f, 1, -1, -0.25f}), mask})[0];
}

TEST(MicrosoftAttention, OneFlagForAllKeysMasksNothing) {
  ExpectFloats(Attended(TensorOf<int32_t>({1, 1}, {0})),
               {-1.3105186f, -0.90495837f, -1.3476795f, -1.070548f, -1.8821651f, -0.2856979f});
}

TEST(MicrosoftAttention, MasksKeysByLengthAndStart) {
  ExpectFloats(Attended(TensorOf<int32_t>({2}, {3, 1})),
               {-1.1274602f, -1.0521631f, -1.153712f, -1.2753024f, -1.0516515f, -0.40778738f});
}

TEST(MicrosoftAttention, ValuesMayHaveAnotherSize) {
  const PrimitiveBuilder builder = PrimitiveBuilder("com.microsoft", "Attention", 1)
                                       .Set("num_heads", int64_t{1})
                                       .Set("qkv_hidden_sizes", std::vector<int64_t>{2, 2, 3});
  const std::vector<Tensor> out = RunNode(
      MakeMicrosoft_Attention, builder,
      {TensorOf<float>({1, 2, 2}, {-1.25f, 0.5f, -0.5f, 1.25f}),
       TensorOf<float>({2, 7}, {-1.25f, 0, 1.25f, -0.25f, 1, -0.5f, 0.75f, -0.75f, 0.5f, -1, 0.25f, -1.25f, 0, 1.25f}),
       TensorOf<float>({7}, {-1.25f, -0.5f, 0.25f, 1, -1, -0.25f, 0.5f})});
  EXPECT_EQ(out[0].shape(), (Shape{1, 2, 3}));
  ExpectFloats(out[0], {-2.9683614f, 0.18827683f, 0.9343925f, -2.959074f, 0.20685211f, 0.86009157f});
}

TEST(MicrosoftGroupQueryAttention, HasASinkForProbability) {
  const PrimitiveBuilder builder = PrimitiveBuilder("com.microsoft", "GroupQueryAttention", 1)
                                       .Set("num_heads", int64_t{1})
                                       .Set("kv_num_heads", int64_t{1})
                                       .Set("softcap", 1.5f);
  const std::vector<Tensor> out =
      RunNode(MakeMicrosoft_GroupQueryAttention, builder,
              {TensorOf<float>({1, 2, 8}, {-1.25f, 0.5f, -0.5f, 1.25f, 0.25f, -0.75f, 1, 0, -1, 0.75f, -0.25f, -1.25f,
                                           0.5f, -0.5f, 1.25f, 0.25f}),
               TensorOf<float>({1, 2, 8}, {-1.25f, 0, 1.25f, -0.25f, 1, -0.5f, 0.75f, -0.75f, 0.5f, -1, 0.25f, -1.25f,
                                           0, 1.25f, -0.25f, 1}),
               TensorOf<float>({1, 2, 8}, {-1.25f, -0.5f, 0.25f, 1, -1, -0.25f, 0.5f, 1.25f, -0.75f, 0, 0.75f, -1.25f,
                                           -0.5f, 0.25f, 1, -1}),
               kNoInput, kNoInput, TensorOf<int32_t>({1}, {1}), TensorOf<int32_t>({}, {2}), kNoInput, kNoInput,
               kNoInput, kNoInput, TensorOf<float>({1}, {0.5f})},
              {.outputs = 3});
  EXPECT_EQ(out[0].shape(), (Shape{1, 2, 8}));
  ExpectFloats(
      out[0], {-0.6745832f, -0.26983327f, 0.13491663f, 0.53966653f, -0.53966653f, -0.13491663f, 0.26983327f, 0.6745832f,
               -0.7376369f, -0.24213096f, 0.253375f, 0.26374608f, -0.5724683f, -0.07696231f, 0.41854364f, 0.42891476f});
}

TEST(MicrosoftAttention, RefusesRotationAndSharedBuffersByName) {
  const PrimitiveBuilder plain = PrimitiveBuilder("com.microsoft", "Attention", 1).Set("num_heads", int64_t{1});
  for (const char* name : {"do_rotary", "past_present_share_buffer"}) {
    const Status status = TryRunNode(MakeMicrosoft_Attention, PrimitiveBuilder(plain).Set(name, int64_t{1}),
                                     {TensorOf<float>({1, 1, 1}, {1}), TensorOf<float>({1, 3}, {1, 2, 3}),
                                      TensorOf<float>({3}, {1, 2, 3})})
                              .status();
    EXPECT_EQ(status.code(), StatusCode::kNotSupported);
    EXPECT_NE(status.ToString().find(name), std::string::npos) << status.ToString();
  }
}

TEST(MicrosoftRotaryEmbedding, APositionOutsideOfTheTablesIsAnError) {
  for (const int64_t position : {int64_t{-1}, int64_t{1}, INT64_MAX}) {
    const Status status =
        TryRunNode(MakeMicrosoft_RotaryEmbedding, PrimitiveBuilder("com.microsoft", "RotaryEmbedding", 1),
                   {TensorOf<float>({1, 1, 2, 2}, {1, 2, 3, 4}), TensorOf<int64_t>({1}, {position}),
                    TensorOf<float>({1, 1}, {1}), TensorOf<float>({1, 1}, {0})})
            .status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << position;
  }
}

TEST(MicrosoftGroupQueryAttention, LengthsThatThePastCannotHoldAreAnError) {
  const Tensor row = TensorOf<float>({1, 1, 8}, {1, 2, 3, 4, 5, 6, 7, 8});
  const PrimitiveBuilder builder = PrimitiveBuilder("com.microsoft", "GroupQueryAttention", 1)
                                       .Set("num_heads", int64_t{1})
                                       .Set("kv_num_heads", int64_t{1});
  for (const int32_t length : {-2, 5, INT32_MAX}) {
    const Status status =
        TryRunNode(MakeMicrosoft_GroupQueryAttention, builder,
                   {row, row, row, kNoInput, kNoInput, TensorOf<int32_t>({1}, {length}), TensorOf<int32_t>({}, {6})},
                   {.outputs = 3})
            .status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << length;
  }
}

}  // namespace
}  // namespace deputy::host
