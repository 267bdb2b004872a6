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

// Queries and keys of zeros: a query gets the mean of the values that it attends to, which are 1, 2, 4, 8, ...
Tensor MeanOfValues(const PrimitiveBuilder& builder, int64_t batch, int64_t queries, int64_t keys,
                    std::vector<Tensor> more = {}) {
  std::vector<float> values;
  for (int64_t i = 0; i < batch * keys; ++i) values.push_back(static_cast<float>(1 << (i % keys)));
  const auto zeros = [&](int64_t rows) {
    return TensorOf<float>({batch, 1, rows, 1}, std::vector<float>(static_cast<size_t>(batch * rows), 0));
  };
  std::vector<Tensor> inputs = {zeros(queries), zeros(keys), TensorOf<float>({batch, 1, keys, 1}, values)};
  inputs.insert(inputs.end(), more.begin(), more.end());
  return RunNode(MakeAttention, builder, std::move(inputs))[0];
}

PrimitiveBuilder Windows(int64_t left, int64_t right) {
  return PrimitiveBuilder("", "Attention", 25).Set("left_window_size", left).Set("right_window_size", right);
}

TEST(Attention, WindowsLimitTheKeysOnEitherSide) {
  ExpectFloats(MeanOfValues(Windows(1, 1), 1, 4, 5), {1.5f, 7 / 3.0f, 14 / 3.0f, 28 / 3.0f});
  ExpectFloats(MeanOfValues(Windows(0, 0), 1, 4, 5), {1, 2, 4, 8});
  ExpectFloats(MeanOfValues(Windows(-1, 0), 1, 3, 5), {1, 1.5f, 7 / 3.0f});
  ExpectFloats(MeanOfValues(Windows(0, -1), 1, 3, 3), {7 / 3.0f, 3, 4});
  ExpectFloats(MeanOfValues(Windows(INT64_MAX, INT64_MAX), 1, 2, 2), {1.5f, 1.5f});
  // The upper bound of `is_causal` holds as well.
  ExpectFloats(MeanOfValues(Windows(1, 1).Set("is_causal", int64_t{1}), 1, 3, 3), {1, 1.5f, 3});
}

TEST(Attention, WindowsAreAroundTheKeyBehindThePast) {
  const Tensor past = TensorOf<float>({1, 1, 2, 1}, {0, 0}), values = TensorOf<float>({1, 1, 2, 1}, {16, 32});
  // The values are 16, 32, 1, 2; the queries' own are the third and the fourth.
  ExpectFloats(MeanOfValues(Windows(1, 0), 1, 2, 2, {kNoInput, past, values}), {16.5f, 1.5f});
}

TEST(Attention, PaddingIsNeverAttendedTo) {
  const PrimitiveBuilder plain("", "Attention", 24);
  const auto lengths = [](std::vector<int64_t> numbers) {
    const auto count = static_cast<int64_t>(numbers.size());
    return std::vector<Tensor>{kNoInput, kNoInput, kNoInput, TensorOf<int64_t>({count}, numbers)};
  };
  ExpectFloats(MeanOfValues(plain, 2, 2, 3, lengths({3, 1})), {7 / 3.0f, 7 / 3.0f, 1, 1});
  ExpectFloats(MeanOfValues(plain, 2, 1, 3, lengths({0, 2})), {0, 1.5f});
  // The last query is that of the last key; queries before the first key attend to none.
  const PrimitiveBuilder causal = PrimitiveBuilder(plain).Set("is_causal", int64_t{1});
  ExpectFloats(MeanOfValues(causal, 2, 2, 4, lengths({4, 2})), {7 / 3.0f, 15 / 4.0f, 1, 1.5f});
  ExpectFloats(MeanOfValues(causal, 1, 3, 4, lengths({1})), {0, 0, 1});
  ExpectFloats(MeanOfValues(Windows(1, 0), 1, 2, 5, lengths({4})), {3, 6});
}

TEST(Attention, AShorterMaskHidesTheKeysBehindIt) {
  const Tensor mask = TensorOf<uint8_t>({2, 2}, {1, 1, 0, 1}, DType::kBool);
  ExpectFloats(MeanOfValues(PrimitiveBuilder("", "Attention", 24), 1, 2, 4, {mask}), {1.5f, 2});
  // One of a single key was broadcast before definition 24.
  const Tensor single = TensorOf<uint8_t>({2, 1}, {1, 0}, DType::kBool);
  ExpectFloats(MeanOfValues(PrimitiveBuilder("", "Attention", 24), 1, 2, 2, {single}), {1, 0});
  ExpectFloats(MeanOfValues(PrimitiveBuilder("", "Attention", 23), 1, 2, 2, {single}), {1.5f, 0});
}

TEST(Attention, ImpossibleLengthsAndWindowsAreRefused) {
  const Tensor x = TensorOf<float>({1, 1, 1, 1}, {0});
  const auto failure = [&](const PrimitiveBuilder& builder, std::vector<Tensor> more) {
    std::vector<Tensor> inputs = {x, x, x};
    inputs.insert(inputs.end(), more.begin(), more.end());
    return TryRunNode(MakeAttention, builder, inputs).status().message();
  };
  const PrimitiveBuilder plain("", "Attention", 24);
  for (const int64_t length : {int64_t{-1}, int64_t{2}})
    EXPECT_NE(failure(plain, {kNoInput, kNoInput, kNoInput, TensorOf<int64_t>({1}, {length})}).find("expected 0 to 1"),
              std::string::npos);
  EXPECT_NE(failure(plain, {kNoInput, x, x, TensorOf<int64_t>({1}, {1})}).find("cannot be combined with past_key"),
            std::string::npos);
  EXPECT_NE(failure(Windows(-2, 0), {}).find("left_window_size must be -1 or more, got -2"), std::string::npos);
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
