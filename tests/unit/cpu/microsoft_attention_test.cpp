// The attention operators of com.microsoft, each as a node would run. Expected numbers are those of ONNX Runtime 1.31.
#include "unit/cpu/expect_floats.hpp"

namespace deputy::host {
namespace {

const Tensor kNoInput;

TEST(MicrosoftAttention, ProjectsAndAttends) {
  const PrimitiveBuilder builder = PrimitiveBuilder("com.microsoft", "Attention", 1).Set("num_heads", int64_t{1});
  const std::vector<Tensor> out =
      RunNode(MakeMicrosoft_Attention, builder,
              {TensorOf<float>({1, 3, 2}, {-1.25f, 0.5f, -0.5f, 1.25f, 0.25f, -0.75f}),
               TensorOf<float>({2, 6}, {-1.25f, 0, 1.25f, -0.25f, 1, -0.5f, 0.75f, -0.75f, 0.5f, -1, 0.25f, -1.25f}),
               TensorOf<float>({6}, {-1.25f, -0.5f, 0.25f, 1, -1, -0.25f})});
  EXPECT_EQ(out[0].shape(), (Shape{1, 3, 2}));
  ExpectFloats(out[0], {-1.3105186f, -0.90495837f, -1.3476795f, -1.070548f, -1.8821651f, -0.2856979f});
}

TEST(MicrosoftAttention, OneFlagForAllKeysMasksNothing) {
  const PrimitiveBuilder builder = PrimitiveBuilder("com.microsoft", "Attention", 1).Set("num_heads", int64_t{1});
  const std::vector<Tensor> out =
      RunNode(MakeMicrosoft_Attention, builder,
              {TensorOf<float>({1, 3, 2}, {-1.25f, 0.5f, -0.5f, 1.25f, 0.25f, -0.75f}),
               TensorOf<float>({2, 6}, {-1.25f, 0, 1.25f, -0.25f, 1, -0.5f, 0.75f, -0.75f, 0.5f, -1, 0.25f, -1.25f}),
               TensorOf<float>({6}, {-1.25f, -0.5f, 0.25f, 1, -1, -0.25f}), TensorOf<int32_t>({1, 1}, {0})});
  ExpectFloats(out[0], {-1.3105186f, -0.90495837f, -1.3476795f, -1.070548f, -1.8821651f, -0.2856979f});
}

TEST(MicrosoftAttention, MasksKeysByFlags) {
  const PrimitiveBuilder builder = PrimitiveBuilder("com.microsoft", "Attention", 1).Set("num_heads", int64_t{1});
  const std::vector<Tensor> out =
      RunNode(MakeMicrosoft_Attention, builder,
              {TensorOf<float>({1, 3, 2}, {-1.25f, 0.5f, -0.5f, 1.25f, 0.25f, -0.75f}),
               TensorOf<float>({2, 6}, {-1.25f, 0, 1.25f, -0.25f, 1, -0.5f, 0.75f, -0.75f, 0.5f, -1, 0.25f, -1.25f}),
               TensorOf<float>({6}, {-1.25f, -0.5f, 0.25f, 1, -1, -0.25f}), TensorOf<int32_t>({1, 3}, {1, 0, 1})});
  EXPECT_EQ(out[0].shape(), (Shape{1, 3, 2}));
  ExpectFloats(out[0], {-1.5115769f, 0.16971049f, -1.7077944f, 0.03545635f, -1.962193f, -0.1386057f});
}

TEST(MicrosoftAttention, MasksKeysByLengthAndStart) {
  const PrimitiveBuilder builder = PrimitiveBuilder("com.microsoft", "Attention", 1).Set("num_heads", int64_t{1});
  const std::vector<Tensor> out =
      RunNode(MakeMicrosoft_Attention, builder,
              {TensorOf<float>({1, 3, 2}, {-1.25f, 0.5f, -0.5f, 1.25f, 0.25f, -0.75f}),
               TensorOf<float>({2, 6}, {-1.25f, 0, 1.25f, -0.25f, 1, -0.5f, 0.75f, -0.75f, 0.5f, -1, 0.25f, -1.25f}),
               TensorOf<float>({6}, {-1.25f, -0.5f, 0.25f, 1, -1, -0.25f}), TensorOf<int32_t>({2}, {3, 1})});
  EXPECT_EQ(out[0].shape(), (Shape{1, 3, 2}));
  ExpectFloats(out[0], {-1.1274602f, -1.0521631f, -1.153712f, -1.2753024f, -1.0516515f, -0.40778738f});
}

TEST(MicrosoftAttention, CausalQueriesSeeNoLaterKeys) {
  const PrimitiveBuilder builder = PrimitiveBuilder("com.microsoft", "Attention", 1)
                                       .Set("num_heads", int64_t{1})
                                       .Set("unidirectional", int64_t{1})
                                       .Set("scale", 0.5f);
  const std::vector<Tensor> out =
      RunNode(MakeMicrosoft_Attention, builder,
              {TensorOf<float>({1, 3, 2}, {-1.25f, 0.5f, -0.5f, 1.25f, 0.25f, -0.75f}),
               TensorOf<float>({2, 6}, {-1.25f, 0, 1.25f, -0.25f, 1, -0.5f, 0.75f, -0.75f, 0.5f, -1, 0.25f, -1.25f}),
               TensorOf<float>({6}, {-1.25f, -0.5f, 0.25f, 1, -1, -0.25f}), TensorOf<int32_t>({1, 3}, {0, 1, 1})});
  EXPECT_EQ(out[0].shape(), (Shape{1, 3, 2}));
  ExpectFloats(out[0], {-2.125f, -0.25f, -1.1875f, -1.5625f, -1.0548192f, -0.4347137f});
}

TEST(MicrosoftAttention, PastKeysComeFirst) {
  const PrimitiveBuilder builder =
      PrimitiveBuilder("com.microsoft", "Attention", 1).Set("num_heads", int64_t{1}).Set("unidirectional", int64_t{1});
  const std::vector<Tensor> out =
      RunNode(MakeMicrosoft_Attention, builder,
              {TensorOf<float>({1, 1, 2}, {-1.25f, 0.5f}),
               TensorOf<float>({2, 6}, {-1.25f, 0, 1.25f, -0.25f, 1, -0.5f, 0.75f, -0.75f, 0.5f, -1, 0.25f, -1.25f}),
               TensorOf<float>({6}, {-1.25f, -0.5f, 0.25f, 1, -1, -0.25f}), kNoInput,
               TensorOf<float>({2, 1, 1, 2, 2}, {-1.25f, -0.5f, 0.25f, 1, -1, -0.25f, 0.5f, 1.25f})},
              {.outputs = 2});
  EXPECT_EQ(out[0].shape(), (Shape{1, 1, 2}));
  ExpectFloats(out[0], {-0.70407724f, 0.28317508f});
  EXPECT_EQ(out[1].shape(), (Shape{2, 1, 1, 3, 2}));
  ExpectFloats(out[1], {-1.25f, -0.5f, 0.25f, 1, -1.0625f, 0.8125f, -1, -0.25f, 0.5f, 1.25f, -2.125f, -0.25f});
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

TEST(MicrosoftAttention, AddsABiasPerHead) {
  const PrimitiveBuilder builder = PrimitiveBuilder("com.microsoft", "Attention", 1).Set("num_heads", int64_t{2});
  const std::vector<Tensor> out =
      RunNode(MakeMicrosoft_Attention, builder,
              {TensorOf<float>({1, 2, 2}, {-1.25f, 0.5f, -0.5f, 1.25f}),
               TensorOf<float>(
                   {2, 12}, {-1.25f, 0,     1.25f,  -0.25f, 1,     -0.5f, 0.75f,  -0.75f, 0.5f, -1,    0.25f,  -1.25f,
                             0,      1.25f, -0.25f, 1,      -0.5f, 0.75f, -0.75f, 0.5f,   -1,   0.25f, -1.25f, 0}),
               TensorOf<float>({12}, {-1.25f, -0.5f, 0.25f, 1, -1, -0.25f, 0.5f, 1.25f, -0.75f, 0, 0.75f, -1.25f}),
               kNoInput, kNoInput, TensorOf<float>({1, 2, 2, 2}, {-1.25f, -0.5f, 0.25f, 1, -1, -0.25f, 0.5f, 1.25f})});
  EXPECT_EQ(out[0].shape(), (Shape{1, 2, 4}));
  ExpectFloats(out[0], {-2.1376684f, 0.98099744f, -0.6560511f, -0.2731889f, -2.1276517f, 0.99602234f, -0.64282113f,
                        -0.2566514f});
}

TEST(MicrosoftMultiHeadAttention, AddsTheBiasOfItsProjections) {
  const PrimitiveBuilder builder =
      PrimitiveBuilder("com.microsoft", "MultiHeadAttention", 1).Set("num_heads", int64_t{2});
  const std::vector<Tensor> out =
      RunNode(MakeMicrosoft_MultiHeadAttention, builder,
              {TensorOf<float>({1, 2, 4}, {-1.25f, 0.5f, -0.5f, 1.25f, 0.25f, -0.75f, 1, 0}),
               TensorOf<float>({1, 3, 4}, {-1.25f, 0, 1.25f, -0.25f, 1, -0.5f, 0.75f, -0.75f, 0.5f, -1, 0.25f, -1.25f}),
               TensorOf<float>({1, 3, 4}, {-1.25f, -0.5f, 0.25f, 1, -1, -0.25f, 0.5f, 1.25f, -0.75f, 0, 0.75f, -1.25f}),
               TensorOf<float>({12}, {-1.25f, -0.75f, -0.25f, 0.25f, 0.75f, 1.25f, -1, -0.5f, 0, 0.5f, 1, -1.25f})});
  EXPECT_EQ(out[0].shape(), (Shape{1, 2, 4}));
  ExpectFloats(out[0],
               {-1.2200634f, 0.0299365f, 1.456316f, -0.7306449f, -1.0185461f, 0.23145391f, 1.4422697f, -0.67539775f});
}

TEST(MicrosoftMultiHeadAttention, AppendsToThePast) {
  const PrimitiveBuilder builder =
      PrimitiveBuilder("com.microsoft", "MultiHeadAttention", 1).Set("num_heads", int64_t{1});
  const std::vector<Tensor> out =
      RunNode(MakeMicrosoft_MultiHeadAttention, builder,
              {TensorOf<float>({1, 1, 2}, {-1.25f, 0.5f}), TensorOf<float>({1, 1, 2}, {-1.25f, 0}),
               TensorOf<float>({1, 1, 2}, {-1.25f, -0.5f}), kNoInput, kNoInput, kNoInput,
               TensorOf<float>({1, 1, 2, 2}, {-1.25f, -0.5f, 0.25f, 1}),
               TensorOf<float>({1, 1, 2, 2}, {-1.25f, -0.25f, 0.75f, -1})},
              {.outputs = 3});
  EXPECT_EQ(out[0].shape(), (Shape{1, 1, 2}));
  ExpectFloats(out[0], {-0.9086729f, -0.4908039f});
  EXPECT_EQ(out[1].shape(), (Shape{1, 1, 3, 2}));
  ExpectFloats(out[1], {-1.25f, -0.5f, 0.25f, 1, -1.25f, 0});
  EXPECT_EQ(out[2].shape(), (Shape{1, 1, 3, 2}));
  ExpectFloats(out[2], {-1.25f, -0.25f, 0.75f, -1, -1.25f, -0.5f});
}

TEST(MicrosoftMultiHeadAttention, MasksKeysByPairs) {
  const PrimitiveBuilder builder =
      PrimitiveBuilder("com.microsoft", "MultiHeadAttention", 1).Set("num_heads", int64_t{1});
  const std::vector<Tensor> out = RunNode(
      MakeMicrosoft_MultiHeadAttention, builder,
      {TensorOf<float>({1, 2, 2}, {-1.25f, 0.5f, -0.5f, 1.25f}), TensorOf<float>({1, 2, 2}, {-1.25f, 0, 1.25f, -0.25f}),
       TensorOf<float>({1, 2, 2}, {-1.25f, -0.5f, 0.25f, 1}), kNoInput, TensorOf<int32_t>({1, 2, 2}, {1, 0, 1, 1})});
  EXPECT_EQ(out[0].shape(), (Shape{1, 2, 2}));
  ExpectFloats(out[0], {-1.25f, -0.5f, -0.8767528f, -0.12675284f});
}

TEST(MicrosoftGroupQueryAttention, HeadsShareKeys) {
  const PrimitiveBuilder builder = PrimitiveBuilder("com.microsoft", "GroupQueryAttention", 1)
                                       .Set("num_heads", int64_t{2})
                                       .Set("kv_num_heads", int64_t{1});
  const std::vector<Tensor> out =
      RunNode(MakeMicrosoft_GroupQueryAttention, builder,
              {TensorOf<float>({1, 2, 16}, {-1.25f, 0.5f, -0.5f, 1.25f, 0.25f, -0.75f, 1, 0, -1, 0.75f, -0.25f,
                                            -1.25f, 0.5f, -0.5f, 1.25f, 0.25f, -0.75f, 1, 0, -1, 0.75f, -0.25f,
                                            -1.25f, 0.5f, -0.5f, 1.25f, 0.25f, -0.75f, 1, 0, -1, 0.75f}),
               TensorOf<float>({1, 2, 8}, {-1.25f, 0, 1.25f, -0.25f, 1, -0.5f, 0.75f, -0.75f, 0.5f, -1, 0.25f, -1.25f,
                                           0, 1.25f, -0.25f, 1}),
               TensorOf<float>({1, 2, 8}, {-1.25f, -0.5f, 0.25f, 1, -1, -0.25f, 0.5f, 1.25f, -0.75f, 0, 0.75f, -1.25f,
                                           -0.5f, 0.25f, 1, -1}),
               kNoInput, kNoInput, TensorOf<int32_t>({1}, {1}), TensorOf<int32_t>({}, {2})},
              {.outputs = 3});
  EXPECT_EQ(out[0].shape(), (Shape{1, 2, 16}));
  ExpectFloats(out[0], {-1.25f,      -0.5f,        0.25f,       1,
                        -1,          -0.25f,       0.5f,        1.25f,
                        -1.25f,      -0.5f,        0.25f,       1,
                        -1,          -0.25f,       0.5f,        1.25f,
                        -1.0165485f, -0.26654857f, 0.4834514f,  -0.05053138f,
                        -0.7665486f, -0.01654858f, 0.73345137f, 0.19946861f,
                        -1.0137967f, -0.26379666f, 0.48620337f, -0.0629151f,
                        -0.7637967f, -0.01379665f, 0.7362034f,  0.18708491f});
  EXPECT_EQ(out[1].shape(), (Shape{1, 1, 2, 8}));
  ExpectFloats(out[1],
               {-1.25f, 0, 1.25f, -0.25f, 1, -0.5f, 0.75f, -0.75f, 0.5f, -1, 0.25f, -1.25f, 0, 1.25f, -0.25f, 1});
  EXPECT_EQ(out[2].shape(), (Shape{1, 1, 2, 8}));
  ExpectFloats(out[2],
               {-1.25f, -0.5f, 0.25f, 1, -1, -0.25f, 0.5f, 1.25f, -0.75f, 0, 0.75f, -1.25f, -0.5f, 0.25f, 1, -1});
}

TEST(MicrosoftGroupQueryAttention, TurnsAndAppendsAfterThePast) {
  const PrimitiveBuilder builder = PrimitiveBuilder("com.microsoft", "GroupQueryAttention", 1)
                                       .Set("num_heads", int64_t{1})
                                       .Set("kv_num_heads", int64_t{1})
                                       .Set("do_rotary", int64_t{1});
  const std::vector<Tensor> out =
      RunNode(MakeMicrosoft_GroupQueryAttention, builder,
              {TensorOf<float>({1, 1, 16}, {-1.25f, 0.5f, -0.5f, 1.25f, 0.25f, -0.75f, 1, 0, -1, 0.75f, -0.25f, -1.25f,
                                            0.5f, -0.5f, 1.25f, 0.25f}),
               TensorOf<float>({1, 1, 16}, {-1.25f, 0, 1.25f, -0.25f, 1, -0.5f, 0.75f, -0.75f, 0.5f, -1, 0.25f, -1.25f,
                                            0, 1.25f, -0.25f, 1}),
               TensorOf<float>({1, 1, 16}, {-1.25f, -0.5f, 0.25f, 1, -1, -0.25f, 0.5f, 1.25f, -0.75f, 0, 0.75f, -1.25f,
                                            -0.5f, 0.25f, 1, -1}),
               TensorOf<float>({1, 1, 2, 16}, {-1.25f, -0.5f, 0.25f, 1, -1, -0.25f, 0.5f, 1.25f, -0.75f, 0, 0.75f,
                                               -1.25f, -0.5f, 0.25f, 1, -1, -0.25f, 0.5f, 1.25f, -0.75f, 0, 0.75f,
                                               -1.25f, -0.5f, 0.25f, 1, -1, -0.25f, 0.5f, 1.25f, -0.75f, 0}),
               TensorOf<float>({1, 1, 2, 16}, {-1.25f, -0.25f, 0.75f, -1, 0, 1, -0.75f, 0.25f, 1.25f, -0.5f, 0.5f,
                                               -1.25f, -0.25f, 0.75f, -1, 0, 1, -0.75f, 0.25f, 1.25f, -0.5f, 0.5f,
                                               -1.25f, -0.25f, 0.75f, -1, 0, 1, -0.75f, 0.25f, 1.25f, -0.5f}),
               TensorOf<int32_t>({1}, {2}), TensorOf<int32_t>({}, {3}),
               TensorOf<float>({5, 8}, {1,
                                        0.5403023f,
                                        -0.41614684f,
                                        -0.9899925f,
                                        1,
                                        0.5403023f,
                                        -0.41614684f,
                                        -0.9899925f,
                                        -0.6536436f,
                                        0.2836622f,
                                        0.96017027f,
                                        0.75390226f,
                                        -0.6536436f,
                                        0.2836622f,
                                        0.96017027f,
                                        0.75390226f,
                                        -0.14550003f,
                                        -0.91113025f,
                                        -0.8390715f,
                                        0.0044257f,
                                        -0.14550003f,
                                        -0.91113025f,
                                        -0.8390715f,
                                        0.0044257f,
                                        0.84385395f,
                                        0.9074468f,
                                        0.13673721f,
                                        -0.7596879f,
                                        0.84385395f,
                                        0.9074468f,
                                        0.13673721f,
                                        -0.7596879f,
                                        -0.9576595f,
                                        -0.27516335f,
                                        0.6603167f,
                                        0.9887046f,
                                        -0.9576595f,
                                        -0.27516335f,
                                        0.6603167f,
                                        0.9887046f}),
               TensorOf<float>({5, 8}, {0,           0.84147096f, 0.9092974f,   0.14112f,     0,
                                        0.84147096f, 0.9092974f,  0.14112f,     -0.7568025f,  -0.9589243f,
                                        -0.2794155f, 0.6569866f,  -0.7568025f,  -0.9589243f,  -0.2794155f,
                                        0.6569866f,  0.98935825f, 0.4121185f,   -0.5440211f,  -0.9999902f,
                                        0.98935825f, 0.4121185f,  -0.5440211f,  -0.9999902f,  -0.53657293f,
                                        0.42016703f, 0.9906074f,  0.65028787f,  -0.53657293f, 0.42016703f,
                                        0.9906074f,  0.65028787f, -0.2879033f,  -0.96139747f, -0.75098723f,
                                        0.1498772f,  -0.2879033f, -0.96139747f, -0.75098723f, 0.1498772f})},
              {.outputs = 3});
  EXPECT_EQ(out[0].shape(), (Shape{1, 1, 16}));
  ExpectFloats(
      out[0], {-0.3327318f, -0.54749703f, 0.3588433f, 0.6665454f, -0.57847595f, 0.32786435f, -0.48553914f, 0.42080125f,
               0.2968854f, -0.51651806f, 0.38982227f, -0.3327318f, -0.54749703f, 0.3588433f, 0.6665454f, -0.57847595f});
  EXPECT_EQ(out[1].shape(), (Shape{1, 1, 3, 16}));
  ExpectFloats(out[1], {-1.25f,
                        -0.5f,
                        0.25f,
                        1,
                        -1,
                        -0.25f,
                        0.5f,
                        1.25f,
                        -0.75f,
                        0,
                        0.75f,
                        -1.25f,
                        -0.5f,
                        0.25f,
                        1,
                        -1,
                        -0.25f,
                        0.5f,
                        1.25f,
                        -0.75f,
                        0,
                        0.75f,
                        -1.25f,
                        -0.5f,
                        0.25f,
                        1,
                        -1,
                        -0.25f,
                        0.5f,
                        1.25f,
                        -0.75f,
                        0,
                        -0.31280407f,
                        0.4121185f,
                        -0.9128341f,
                        -1.2510942f,
                        -0.14550003f,
                        -0.05958298f,
                        -0.7653089f,
                        0.99667096f,
                        -1.3094478f,
                        0.91113025f,
                        -0.8897943f,
                        0.24446544f,
                        0.98935825f,
                        -1.344972f,
                        -0.19824797f,
                        0.7544184f});
  EXPECT_EQ(out[2].shape(), (Shape{1, 1, 3, 16}));
  ExpectFloats(out[2], {-1.25f, -0.25f, 0.75f, -1,    0,      1,      -0.75f, 0.25f,  1.25f,  -0.5f, 0.5f,   -1.25f,
                        -0.25f, 0.75f,  -1,    0,     1,      -0.75f, 0.25f,  1.25f,  -0.5f,  0.5f,  -1.25f, -0.25f,
                        0.75f,  -1,     0,     1,     -0.75f, 0.25f,  1.25f,  -0.5f,  -1.25f, -0.5f, 0.25f,  1,
                        -1,     -0.25f, 0.5f,  1.25f, -0.75f, 0,      0.75f,  -1.25f, -0.5f,  0.25f, 1,      -1});
}

TEST(MicrosoftGroupQueryAttention, SeesALocalWindow) {
  const PrimitiveBuilder builder = PrimitiveBuilder("com.microsoft", "GroupQueryAttention", 1)
                                       .Set("num_heads", int64_t{1})
                                       .Set("kv_num_heads", int64_t{1})
                                       .Set("local_window_size", int64_t{2});
  const std::vector<Tensor> out = RunNode(
      MakeMicrosoft_GroupQueryAttention, builder,
      {TensorOf<float>({1, 3, 8}, {-1.25f, 0.5f,  -0.5f, 1.25f, 0.25f,  -0.75f, 1, 0,  -1,    0.75f,  -0.25f, -1.25f,
                                   0.5f,   -0.5f, 1.25f, 0.25f, -0.75f, 1,      0, -1, 0.75f, -0.25f, -1.25f, 0.5f}),
       TensorOf<float>({1, 3, 8},
                       {-1.25f, 0,     1.25f,  -0.25f, 1,     -0.5f, 0.75f,  -0.75f, 0.5f, -1,    0.25f,  -1.25f,
                        0,      1.25f, -0.25f, 1,      -0.5f, 0.75f, -0.75f, 0.5f,   -1,   0.25f, -1.25f, 0}),
       TensorOf<float>({1, 3, 8},
                       {-1.25f, -0.5f, 0.25f, 1,  -1,     -0.25f, 0.5f,  1.25f,  -0.75f, 0,     0.75f,  -1.25f,
                        -0.5f,  0.25f, 1,     -1, -0.25f, 0.5f,   1.25f, -0.75f, 0,      0.75f, -1.25f, -0.5f}),
       kNoInput, kNoInput, TensorOf<int32_t>({1}, {2}), TensorOf<int32_t>({}, {3})},
      {.outputs = 3});
  EXPECT_EQ(out[0].shape(), (Shape{1, 3, 8}));
  ExpectFloats(out[0], {-1.25f,     -0.5f,        0.25f,        1,           -1,          -0.25f,       0.5f,
                        1.25f,      -1.127638f,   -0.37763792f, 0.37236208f, 0.44937068f, -0.87763786f, -0.12763792f,
                        0.6223621f, 0.6993707f,   -0.4562605f,  0.2937395f,  1.0437394f,  -0.9562605f,  -0.20626049f,
                        0.5437395f, -0.32182777f, -0.7062605f});
  EXPECT_EQ(out[1].shape(), (Shape{1, 1, 3, 8}));
  ExpectFloats(out[1], {-1.25f, 0,     1.25f,  -0.25f, 1,     -0.5f, 0.75f,  -0.75f, 0.5f, -1,    0.25f,  -1.25f,
                        0,      1.25f, -0.25f, 1,      -0.5f, 0.75f, -0.75f, 0.5f,   -1,   0.25f, -1.25f, 0});
  EXPECT_EQ(out[2].shape(), (Shape{1, 1, 3, 8}));
  ExpectFloats(out[2], {-1.25f, -0.5f, 0.25f, 1,  -1,     -0.25f, 0.5f,  1.25f,  -0.75f, 0,     0.75f,  -1.25f,
                        -0.5f,  0.25f, 1,     -1, -0.25f, 0.5f,   1.25f, -0.75f, 0,      0.75f, -1.25f, -0.5f});
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
  EXPECT_EQ(out[1].shape(), (Shape{1, 1, 2, 8}));
  ExpectFloats(out[1],
               {-1.25f, 0, 1.25f, -0.25f, 1, -0.5f, 0.75f, -0.75f, 0.5f, -1, 0.25f, -1.25f, 0, 1.25f, -0.25f, 1});
  EXPECT_EQ(out[2].shape(), (Shape{1, 1, 2, 8}));
  ExpectFloats(out[2],
               {-1.25f, -0.5f, 0.25f, 1, -1, -0.25f, 0.5f, 1.25f, -0.75f, 0, 0.75f, -1.25f, -0.5f, 0.25f, 1, -1});
}

TEST(MicrosoftRotaryEmbedding, TurnsPairsByPosition) {
  const PrimitiveBuilder builder = PrimitiveBuilder("com.microsoft", "RotaryEmbedding", 1);
  const std::vector<Tensor> out =
      RunNode(MakeMicrosoft_RotaryEmbedding, builder,
              {TensorOf<float>({1, 1, 2, 8}, {-1.25f, 0.5f, -0.5f, 1.25f, 0.25f, -0.75f, 1, 0, -1, 0.75f, -0.25f,
                                              -1.25f, 0.5f, -0.5f, 1.25f, 0.25f}),
               TensorOf<int64_t>({1, 2}, {3, 1}),
               TensorOf<float>({5, 4}, {1,           0.5403023f,  -0.41614684f, -0.9899925f,  -0.6536436f,
                                        0.2836622f,  0.96017027f, 0.75390226f,  -0.14550003f, -0.91113025f,
                                        -0.8390715f, 0.0044257f,  0.84385395f,  0.9074468f,   0.13673721f,
                                        -0.7596879f, -0.9576595f, -0.27516335f, 0.6603167f,   0.9887046f}),
               TensorOf<float>(
                   {5, 4}, {0,          0.84147096f, 0.9092974f,  0.14112f,     -0.7568025f,  -0.9589243f,  -0.2794155f,
                            0.6569866f, 0.98935825f, 0.4121185f,  -0.5440211f,  -0.9999902f,  -0.53657293f, 0.42016703f,
                            0.9906074f, 0.65028787f, -0.2879033f, -0.96139747f, -0.75098723f, 0.1498772f})});
  EXPECT_EQ(out[0].shape(), (Shape{1, 1, 2, 8}));
  ExpectFloats(
      out[0], {-0.9206742f, 0.76884866f, -1.0589759f, -0.9496099f, 0.88167965f, -0.47050157f, -0.35856646f, 0.81285983f,
               1.0320449f, -0.2667155f, 0.10922679f, -1.1066245f, 0.4299807f, -0.8610243f, 1.2700667f, -0.63275766f});
}

TEST(MicrosoftRotaryEmbedding, TurnsNeighbours) {
  const PrimitiveBuilder builder =
      PrimitiveBuilder("com.microsoft", "RotaryEmbedding", 1).Set("interleaved", int64_t{1});
  const std::vector<Tensor> out =
      RunNode(MakeMicrosoft_RotaryEmbedding, builder,
              {TensorOf<float>({1, 2, 8}, {-1.25f, 0.5f, -0.5f, 1.25f, 0.25f, -0.75f, 1, 0, -1, 0.75f, -0.25f, -1.25f,
                                           0.5f, -0.5f, 1.25f, 0.25f}),
               TensorOf<int64_t>({1}, {2}),
               TensorOf<float>({5, 4}, {1,           0.5403023f,  -0.41614684f, -0.9899925f,  -0.6536436f,
                                        0.2836622f,  0.96017027f, 0.75390226f,  -0.14550003f, -0.91113025f,
                                        -0.8390715f, 0.0044257f,  0.84385395f,  0.9074468f,   0.13673721f,
                                        -0.7596879f, -0.9576595f, -0.27516335f, 0.6603167f,   0.9887046f}),
               TensorOf<float>(
                   {5, 4}, {0,          0.84147096f, 0.9092974f,  0.14112f,     -0.7568025f,  -0.9589243f,  -0.2794155f,
                            0.6569866f, 0.98935825f, 0.4121185f,  -0.5440211f,  -0.9999902f,  -0.53657293f, 0.42016703f,
                            0.9906074f, 0.65028787f, -0.2879033f, -0.96139747f, -0.75098723f, 0.1498772f})});
  EXPECT_EQ(out[0].shape(), (Shape{1, 2, 8}));
  ExpectFloats(out[0],
               {-0.31280407f, -1.3094478f, -0.05958298f, -1.344972f, -0.6177837f, 0.49329835f, 0.0044257f, -0.9999902f,
                -0.44142425f, 1.1694634f, 0.29834706f, -1.2393502f, 0.5636723f, 0.42693508f, -1.1121819f, 0.62293786f});
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
