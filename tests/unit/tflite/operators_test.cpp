// Operators of TensorFlow Lite through the importer and the CPU, against numbers worked out here.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>

#include "unit/tflite/model_writer.hpp"

namespace deputy::test {
namespace {

constexpr uint32_t kSeed = 71;

std::vector<float> Randoms(size_t count, uint32_t seed = kSeed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> uniform(-2, 2);
  std::vector<float> values(count);
  for (float& value : values) value = uniform(engine);
  return values;
}

template <class T>
std::vector<T> RandomBytes(size_t count, uint32_t seed = kSeed) {
  std::mt19937 engine(seed);
  std::uniform_int_distribution<int> uniform(std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
  std::vector<T> values(count);
  for (T& value : values) value = static_cast<T>(uniform(engine));
  return values;
}

void ExpectNear(const Tensor& tensor, const std::vector<float>& expected, float tolerance = 1e-5f) {
  const std::vector<float> values = ValuesOf<float>(tensor);
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected[i], tolerance) << "element " << i;
}

struct Image {
  int64_t height, width, channels;
  std::vector<float> values;  // channels last
  float at(int64_t y, int64_t x, int64_t c) const {
    if (y < 0 || x < 0 || y >= height || x >= width) return 0;
    return values[static_cast<size_t>((y * width + x) * channels + c)];
  }
};

struct ConvCase {
  int64_t stride, dilation;
  bool same, depthwise;
};

// As TensorFlow defines it: windows of padding "SAME" are centred, with the odd element of padding behind.
std::vector<float> Convolved(const Image& image, const std::vector<float>& weights, const std::vector<float>& bias,
                             int64_t kernel, ConvCase how) {
  const int64_t reach = (kernel - 1) * how.dilation + 1, out_channels = static_cast<int64_t>(bias.size());
  const auto steps = [&](int64_t extent) {
    return how.same ? (extent + how.stride - 1) / how.stride : (extent - reach) / how.stride + 1;
  };
  const auto before = [&](int64_t extent) {
    return how.same ? std::max<int64_t>((steps(extent) - 1) * how.stride + reach - extent, 0) / 2 : 0;
  };
  const int64_t per_channel = out_channels / image.channels;
  std::vector<float> result;
  for (int64_t y = 0; y < steps(image.height); ++y)
    for (int64_t x = 0; x < steps(image.width); ++x)
      for (int64_t o = 0; o < out_channels; ++o) {
        double sum = bias[static_cast<size_t>(o)];
        for (int64_t i = 0; i < kernel; ++i)
          for (int64_t j = 0; j < kernel; ++j)
            for (int64_t c = 0; c < image.channels; ++c) {
              if (how.depthwise && c != o / per_channel) continue;
              const int64_t place = how.depthwise ? (i * kernel + j) * out_channels + o
                                                  : ((o * kernel + i) * kernel + j) * image.channels + c;
              sum += static_cast<double>(image.at(y * how.stride + i * how.dilation - before(image.height),
                                                  x * how.stride + j * how.dilation - before(image.width), c)) *
                     weights[static_cast<size_t>(place)];
            }
        result.push_back(static_cast<float>(sum));
      }
  return result;
}

class Convolutions : public testing::TestWithParam<ConvCase> {};

TEST_P(Convolutions, AreThoseOfTheDefinition) {
  const ConvCase how = GetParam();
  const Image image{7, 9, 3, Randoms(7 * 9 * 3)};
  const std::vector<float> bias = Randoms(6, 3), weights = Randoms(how.depthwise ? 9 * 6 : 6 * 9 * 3, 5);
  ModelWriter model;
  const int32_t x = model.Input(fb::TensorType_FLOAT32, {1, 7, 9, 3});
  const std::vector<int32_t> dims = how.depthwise ? std::vector<int32_t>{1, 3, 3, 6} : std::vector<int32_t>{6, 3, 3, 3};
  const int32_t w = model.Constant<float>(dims, weights), b = model.Constant<float>({6}, bias);
  const int32_t y = model.Tensor(fb::TensorType_FLOAT32, {1, 1, 1, 6});
  const auto padding = how.same ? fb::Padding_SAME : fb::Padding_VALID;
  const auto stride = static_cast<int32_t>(how.stride), dilation = static_cast<int32_t>(how.dilation);
  if (how.depthwise)
    model.Add(fb::BuiltinOperator_DEPTHWISE_CONV_2D, {x, w, b}, {y},
              model.With(2, fb::CreateDepthwiseConvOptions(model.fbb, padding, stride, stride, fb::Activation_NONE,
                                                           dilation, dilation)));
  else
    model.Add(fb::BuiltinOperator_CONV_2D, {x, w, b}, {y},
              model.With(1, fb::CreateConvOptions(model.fbb, padding, stride, stride, fb::Activation_NONE, dilation,
                                                  dilation)));
  const std::vector<Tensor> outputs = Predict(model.Finish({y}), {TensorOf<float>({1, 7, 9, 3}, image.values)});
  ExpectNear(outputs[0], Convolved(image, weights, bias, 3, how));
}

INSTANTIATE_TEST_SUITE_P(All, Convolutions,
                         testing::Values(ConvCase{1, 1, true, false}, ConvCase{2, 1, true, false},
                                         ConvCase{1, 2, true, false}, ConvCase{2, 1, false, false},
                                         ConvCase{1, 1, true, true}, ConvCase{2, 1, true, true},
                                         ConvCase{1, 2, false, true}));

TEST(TfliteOperators, TransposeConvSpreadsEachElement) {
  const std::vector<float> image = {1, 2, 3, 4}, weights = {1, 10, 100, 1000};
  ModelWriter model;
  const int32_t shape = model.Constant<int32_t>({4}, {1, 4, 4, 1});
  const int32_t w = model.Constant<float>({1, 2, 2, 1}, weights), x = model.Input(fb::TensorType_FLOAT32, {1, 2, 2, 1});
  const int32_t y = model.Tensor(fb::TensorType_FLOAT32, {1, 4, 4, 1});
  model.Add(fb::BuiltinOperator_TRANSPOSE_CONV, {shape, w, x}, {y},
            model.With(49, fb::CreateTransposeConvOptions(model.fbb, fb::Padding_VALID, 2, 2)));
  ExpectNear(Predict(model.Finish({y}), {TensorOf<float>({1, 2, 2, 1}, image)})[0],
             {1, 10, 2, 20, 100, 1000, 200, 2000, 3, 30, 4, 40, 300, 3000, 400, 4000});
}

TEST(TfliteOperators, QuantizedFullyConnectedIsTheSumOfIntegersRounded) {
  const Quantization in{{0.03f}, {-5}}, weights{{0.01f, 0.02f, 0.005f}, {0, 0, 0}, 0}, out{{0.05f}, {4}};
  const std::vector<int8_t> x = RandomBytes<int8_t>(8), w = RandomBytes<int8_t>(24, 9);
  const std::vector<int32_t> bias = {1000, -2000, 300};
  ModelWriter model;
  const int32_t input = model.Input(fb::TensorType_INT8, {1, 8}, in);
  const int32_t y = model.Tensor(fb::TensorType_INT8, {1, 3}, out);
  const int32_t w_id = model.Constant<int8_t>({3, 8}, w, weights), b_id = model.Constant<int32_t>({3}, bias);
  model.Add(fb::BuiltinOperator_FULLY_CONNECTED, {input, w_id, b_id}, {y},
            model.With(8, fb::CreateFullyConnectedOptions(model.fbb)), 4);
  const std::vector<int8_t> values = ValuesOf<int8_t>(Predict(model.Finish({y}), {TensorOf<int8_t>({1, 8}, x)})[0]);
  ASSERT_EQ(values.size(), 3u);
  for (size_t o = 0; o < 3; ++o) {
    int64_t sum = bias[o];
    for (size_t i = 0; i < 8; ++i) sum += (x[i] + 5) * w[o * 8 + i];
    const double real = static_cast<double>(sum) * 0.03 * static_cast<double>(weights.scales[o]) / 0.05 + 4;
    EXPECT_NEAR(values[o], std::clamp(real, -128.0, 127.0), 0.51);
  }
}

TEST(TfliteOperators, QuantizedConvHasAScalePerChannel) {
  ModelWriter model;
  const int32_t x = model.Input(fb::TensorType_INT8, {1, 1, 1, 1}, {{0.5f}, {1}});
  const int32_t w = model.Constant<int8_t>({2, 1, 1, 1}, {10, 10}, {{0.1f, 0.4f}, {0, 0}, 0});
  const int32_t b = model.Constant<int32_t>({2}, {20, -5}, {{0.05f, 0.2f}, {0, 0}, 0});
  const int32_t y = model.Tensor(fb::TensorType_INT8, {1, 1, 1, 2}, {{0.25f}, {-3}});
  model.Add(fb::BuiltinOperator_CONV_2D, {x, w, b}, {y},
            model.With(1, fb::CreateConvOptions(model.fbb, fb::Padding_SAME, 1, 1)), 3);
  // x = (9 - 1) * 0.5 = 4; 4 * 1 + 1 = 5 and 4 * 4 - 1 = 15; 5 / 0.25 - 3 and 15 / 0.25 - 3.
  EXPECT_EQ(ValuesOf<int8_t>(Predict(model.Finish({y}), {TensorOf<int8_t>({1, 1, 1, 1}, {9})})[0]),
            (std::vector<int8_t>{17, 57}));
}

TEST(TfliteOperators, QuantizedReluThatTheRangeMakesIsNoNode) {
  for (const int64_t zero_point : {-128, -100}) {
    ModelWriter model;
    const int32_t x = model.Input(fb::TensorType_INT8, {4}, {{0.5f}, {0}});
    const int32_t y = model.Tensor(fb::TensorType_INT8, {4}, {{0.5f}, {zero_point}});
    model.Add(fb::BuiltinOperator_RELU, {x}, {y}, {0, 0}, 2);
    const std::string bytes = model.Finish({y});
    const auto zero = static_cast<int8_t>(zero_point);
    EXPECT_EQ(ValuesOf<int8_t>(Predict(bytes, {TensorOf<int8_t>({4}, {-7, 0, 5, 20})})[0]),
              (std::vector<int8_t>{zero, zero, static_cast<int8_t>(zero + 5), static_cast<int8_t>(zero + 20)}));
    Model built;
    ASSERT_TRUE(Build(bytes, built).ok());
    const Result<PlacementReport> report = built.Placement();
    ASSERT_TRUE(report.ok()) << report.status().ToString();
    const auto relus = std::count_if(report->nodes.begin(), report->nodes.end(),
                                     [](const NodeReport& node) { return node.op_type == "Relu"; });
    EXPECT_EQ(relus, zero_point == -128 ? 0 : 1);
  }
}

TEST(TfliteOperators, QuantizedMeanRoundsTiesAwayFromZero) {
  ModelWriter model;
  const Quantization same{{0.1f}, {-128}};
  const int32_t x = model.Input(fb::TensorType_INT8, {1, 1, 2, 4}, same);
  const int32_t y = model.Tensor(fb::TensorType_INT8, {1, 1, 1, 4}, same);
  model.Add(fb::BuiltinOperator_AVERAGE_POOL_2D, {x}, {y},
            model.With(5, fb::CreatePoolOptions(model.fbb, fb::Padding_VALID, 2, 1, 2, 1)), 2);
  EXPECT_EQ(
      ValuesOf<int8_t>(Predict(model.Finish({y}), {TensorOf<int8_t>({1, 1, 2, 4}, {1, 3, -1, -3, 2, 4, -2, -4})})[0]),
      (std::vector<int8_t>{2, 4, -2, -4}));
}

TEST(TfliteOperators, QuantizedPadFillsWithTheZeroPoint) {
  ModelWriter model;
  const Quantization same{{0.1f}, {7}};
  const int32_t x = model.Input(fb::TensorType_INT8, {2}, same), pads = model.Constant<int32_t>({1, 2}, {1, 2});
  const int32_t y = model.Tensor(fb::TensorType_INT8, {5}, same);
  model.Add(fb::BuiltinOperator_PAD, {x, pads}, {y});
  EXPECT_EQ(ValuesOf<int8_t>(Predict(model.Finish({y}), {TensorOf<int8_t>({2}, {1, 2})})[0]),
            (std::vector<int8_t>{7, 1, 2, 7, 7}));
}

TEST(TfliteOperators, WeightsOfFourBitsAreUnpacked) {
  ModelWriter model;
  const int32_t x = model.Input(fb::TensorType_FLOAT32, {1, 3});
  const std::array<uint8_t, 2> packed = {0x2f, 0x08};  // -1, 2, -8
  const int32_t w = model.Tensor(fb::TensorType_INT4, {1, 3}, {{0.5f}, {0}}, model.Buffer(packed));
  const int32_t y = model.Tensor(fb::TensorType_FLOAT32, {1, 1});
  model.Add(fb::BuiltinOperator_FULLY_CONNECTED, {x, w}, {y});
  ExpectNear(Predict(model.Finish({y}), {TensorOf<float>({1, 3}, {1, 10, 100})})[0], {-0.5f + 10.0f - 400.0f});
}

TEST(TfliteOperators, MaskedStridedSliceDropsAndAddsAxes) {
  ModelWriter model;
  const int32_t x = model.Input(fb::TensorType_INT32, {2, 3, 4});
  const int32_t begin = model.Constant<int32_t>({3}, {-1, 0, 3}), end = model.Constant<int32_t>({3}, {0, 0, 0});
  const int32_t step = model.Constant<int32_t>({3}, {1, 1, -2});
  const int32_t y = model.Tensor(fb::TensorType_INT32, {1, 3, 2});
  // x[-1, newaxis..., 3::-2]: the first axis goes, one comes, the last is read backwards.
  model.Add(fb::BuiltinOperator_STRIDED_SLICE, {x, begin, end, step}, {y},
            model.With(32, fb::CreateStridedSliceOptions(model.fbb, 0, 4, 2, 0, 1)));
  std::vector<int32_t> values(24);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int32_t>(i);
  const std::vector<Tensor> outputs = Predict(model.Finish({y}), {TensorOf<int32_t>({2, 3, 4}, values)});
  EXPECT_EQ(outputs[0].shape(), (Shape{3, 2}));
  EXPECT_EQ(ValuesOf<int32_t>(outputs[0]), (std::vector<int32_t>{15, 13, 19, 17, 23, 21}));
}

TEST(TfliteOperators, AMaskHidesWhereADroppedAxisBegins) {
  ModelWriter model;
  const int32_t x = model.Input(fb::TensorType_INT32, {3, 2});
  const int32_t begin = model.Constant<int32_t>({2}, {2, 0}), end = model.Constant<int32_t>({2}, {3, 2});
  const int32_t step = model.Constant<int32_t>({2}, {1, 1}), y = model.Tensor(fb::TensorType_INT32, {2});
  model.Add(fb::BuiltinOperator_STRIDED_SLICE, {x, begin, end, step}, {y},
            model.With(32, fb::CreateStridedSliceOptions(model.fbb, 1, 0, 0, 0, 1)));
  EXPECT_EQ(ValuesOf<int32_t>(Predict(model.Finish({y}), {TensorOf<int32_t>({3, 2}, {1, 2, 3, 4, 5, 6})})[0]),
            (std::vector<int32_t>{1, 2}));
}

TEST(TfliteOperators, AStridedSliceMayBeginAndEndWhereTheRunSays) {
  ModelWriter model;
  const int32_t x = model.Input(fb::TensorType_INT32, {3, 4});
  const int32_t begin = model.Input(fb::TensorType_INT32, {2}), end = model.Input(fb::TensorType_INT32, {2});
  const int32_t step = model.Constant<int32_t>({2}, {1, -1}), y = model.Tensor(fb::TensorType_INT32, {-1});
  // x[begin[0], :end[1]:-1]: the first axis goes, the begin of the second is hidden.
  model.Add(fb::BuiltinOperator_STRIDED_SLICE, {x, begin, end, step}, {y},
            model.With(32, fb::CreateStridedSliceOptions(model.fbb, 2, 0, 0, 0, 1)));
  const std::string bytes = model.Finish({y});
  std::vector<int32_t> values(12);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int32_t>(i);
  const auto sliced = [&](int32_t row, int32_t to) {
    return ValuesOf<int32_t>(Predict(bytes, {TensorOf<int32_t>({3, 4}, values), TensorOf<int32_t>({2}, {row, 2}),
                                             TensorOf<int32_t>({2}, {0, to})})[0]);
  };
  EXPECT_EQ(sliced(1, 1), (std::vector<int32_t>{7, 6}));
  EXPECT_EQ(sliced(-1, -4), (std::vector<int32_t>{11, 10, 9}));
}

TEST(TfliteOperators, ANegativeIndexOfOneHotNamesNoPlace) {
  ModelWriter model;
  const int32_t x = model.Input(fb::TensorType_INT32, {3}), depth = model.Constant<int32_t>({}, {2});
  const int32_t on = model.Constant<int32_t>({}, {7}), off = model.Constant<int32_t>({}, {-1});
  const int32_t y = model.Tensor(fb::TensorType_INT32, {3, 2});
  model.Add(fb::BuiltinOperator_ONE_HOT, {x, depth, on, off}, {y},
            model.With(61, fb::CreateAxisOptions(model.fbb, -1)));
  EXPECT_EQ(ValuesOf<int32_t>(Predict(model.Finish({y}), {TensorOf<int32_t>({3}, {1, -1, 2})})[0]),
            (std::vector<int32_t>{-1, 7, -1, -1, -1, -1}));
}

TEST(TfliteOperators, NegativeBatchDimensionsOfGatherCountFromBehindTheLast) {
  ModelWriter model;
  const int32_t x = model.Input(fb::TensorType_INT32, {2, 3}), indices = model.Constant<int32_t>({2, 2}, {2, 0, 1, 1});
  const int32_t y = model.Tensor(fb::TensorType_INT32, {2, 2});
  model.Add(fb::BuiltinOperator_GATHER, {x, indices}, {y}, model.With(23, fb::CreateGatherOptions(model.fbb, 1, -1)));
  EXPECT_EQ(ValuesOf<int32_t>(Predict(model.Finish({y}), {TensorOf<int32_t>({2, 3}, {1, 2, 3, 4, 5, 6})})[0]),
            (std::vector<int32_t>{3, 1, 5, 5}));
}

TEST(TfliteOperators, SpaceToBatchTakesEveryOtherElement) {
  ModelWriter model;
  const int32_t x = model.Input(fb::TensorType_INT32, {1, 2, 4, 1});
  const int32_t blocks = model.Constant<int32_t>({2}, {2, 2}), pads = model.Constant<int32_t>({2, 2}, {0, 0, 0, 0});
  const int32_t y = model.Tensor(fb::TensorType_INT32, {4, 1, 2, 1});
  model.Add(fb::BuiltinOperator_SPACE_TO_BATCH_ND, {x, blocks, pads}, {y});
  EXPECT_EQ(
      ValuesOf<int32_t>(Predict(model.Finish({y}), {TensorOf<int32_t>({1, 2, 4, 1}, {1, 2, 3, 4, 5, 6, 7, 8})})[0]),
      (std::vector<int32_t>{1, 3, 2, 4, 5, 7, 6, 8}));
}

TEST(TfliteOperators, NearestOfCentresRoundsUp) {
  ModelWriter model;
  const int32_t x = model.Input(fb::TensorType_FLOAT32, {1, 1, 4, 1}), size = model.Constant<int32_t>({2}, {1, 2});
  const int32_t y = model.Tensor(fb::TensorType_FLOAT32, {1, 1, 2, 1});
  model.Add(fb::BuiltinOperator_RESIZE_NEAREST_NEIGHBOR, {x, size}, {y},
            model.With(74, fb::CreateResizeNearestNeighborOptions(model.fbb, false, true)), 3);
  ExpectNear(Predict(model.Finish({y}), {TensorOf<float>({1, 1, 4, 1}, {1, 2, 3, 4})})[0], {2, 4});
}

// A network as converters write it: everything between the first convolution and the last is in one layout.
TEST(TfliteLayout, AChainOfImageOperatorsHasTransposesAtItsEndsOnly) {
  ModelWriter model;
  const auto type = fb::TensorType_FLOAT32;
  const int32_t x = model.Input(type, {1, 6, 6, 2}, {}, {-1, 6, 6, 2});
  const int32_t w = model.Constant<float>({2, 3, 3, 2}, Randoms(36)), b = model.Constant<float>({2}, {0.5f, -1});
  std::vector<int32_t> t;
  for (int i = 0; i < 6; ++i) t.push_back(model.Tensor(type, {1, 6, 6, 2}));
  const auto conv = [&] {
    return model.With(1, fb::CreateConvOptions(model.fbb, fb::Padding_SAME, 1, 1, fb::Activation_RELU6));
  };
  model.Add(fb::BuiltinOperator_CONV_2D, {x, w, b}, {t[0]}, conv());
  model.Add(fb::BuiltinOperator_CONV_2D, {t[0], w, b}, {t[1]}, conv());
  model.Add(fb::BuiltinOperator_MUL, {t[1], b}, {t[2]});
  model.Add(fb::BuiltinOperator_ADD, {t[0], t[2]}, {t[3]});
  model.Add(fb::BuiltinOperator_CONCATENATION, {t[3], t[1]}, {t[4]},
            model.With(10, fb::CreateConcatenationOptions(model.fbb, 3)));
  model.Add(fb::BuiltinOperator_LOGISTIC, {t[4]}, {t[5]});
  const std::string bytes = model.Finish({t[5]});
  Model built;
  ASSERT_TRUE(Build(bytes, built).ok()) << Refusal(bytes);
  EXPECT_EQ(built.inputs()[0].shape, (Shape{-1, 6, 6, 2}));
  EXPECT_EQ(built.outputs()[0].shape, (Shape{-1, 6, 6, 4}));
  const Result<PlacementReport> report = built.Placement({{3, 6, 6, 2}});
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  const auto transposes = std::count_if(report->nodes.begin(), report->nodes.end(),
                                        [](const NodeReport& node) { return node.op_type == "Transpose"; });
  EXPECT_EQ(transposes, 2);
  EXPECT_EQ(Predict(bytes, {TensorOf<float>({3, 6, 6, 2}, Randoms(216))})[0].shape(), (Shape{3, 6, 6, 4}));
}

TEST(TfliteLayout, TransposesOfTheFileAreForgottenBetweenLayouts) {
  ModelWriter model;
  const auto type = fb::TensorType_FLOAT32;
  const int32_t x = model.Input(type, {1, 2, 6, 6});
  const int32_t w = model.Constant<float>({2, 1, 1, 2}, {1, 0, 0, 2}), b = model.Constant<float>({2}, {0, 1});
  const int32_t last = model.Constant<int32_t>({4}, {0, 2, 3, 1}), second = model.Constant<int32_t>({4}, {0, 3, 1, 2});
  const int32_t a = model.Tensor(type, {1, 6, 6, 2}), c = model.Tensor(type, {1, 6, 6, 2});
  const int32_t y = model.Tensor(type, {1, 2, 6, 6});
  model.Add(fb::BuiltinOperator_TRANSPOSE, {x, last}, {a});
  model.Add(fb::BuiltinOperator_CONV_2D, {a, w, b}, {c},
            model.With(1, fb::CreateConvOptions(model.fbb, fb::Padding_SAME, 1, 1)));
  model.Add(fb::BuiltinOperator_TRANSPOSE, {c, second}, {y});
  const std::string bytes = model.Finish({y});
  Model built;
  ASSERT_TRUE(Build(bytes, built).ok()) << Refusal(bytes);
  const Result<PlacementReport> report = built.Placement();
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  for (const NodeReport& node : report->nodes) EXPECT_NE(node.op_type, "Transpose") << node.name;
  std::vector<float> values = Randoms(72), expected = values;
  for (size_t i = 36; i < 72; ++i) expected[i] = 2 * values[i] + 1;
  ExpectNear(Predict(bytes, {TensorOf<float>({1, 2, 6, 6}, values)})[0], expected);
}

TEST(TfliteModel, InputsAndOutputsKeepNamesAndOrder) {
  ModelWriter model;
  const auto type = fb::TensorType_FLOAT32;
  const int32_t a = model.Input(type, {2}), b = model.Input(type, {2});
  const int32_t sum = model.Tensor(type, {2}), difference = model.Tensor(type, {2});
  model.Add(fb::BuiltinOperator_ADD, {a, b}, {sum});
  model.Add(fb::BuiltinOperator_SUB, {a, b}, {difference});
  const std::string bytes = model.Finish({difference, sum, a});
  Model built;
  ASSERT_TRUE(Build(bytes, built).ok()) << Refusal(bytes);
  EXPECT_EQ(built.inputs()[1].name, "tensor1");
  EXPECT_EQ(built.outputs()[0].name, "tensor3");
  const std::vector<Tensor> outputs = Predict(bytes, {TensorOf<float>({2}, {1, 2}), TensorOf<float>({2}, {10, 20})});
  ExpectNear(outputs[0], {-9, -18});
  ExpectNear(outputs[1], {11, 22});
  ExpectNear(outputs[2], {1, 2});
}

}  // namespace
}  // namespace deputy::test
