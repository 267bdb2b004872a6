// Damaged, hostile and unsupported files: refused with the place named, never a crash.
#include <array>
#include <limits>
#include <random>

#include "unit/tflite/model_writer.hpp"

namespace deputy::test {
namespace {

// An image through a convolution and a softmax.
std::string SmallModel() {
  ModelWriter model;
  const int32_t x = model.Input(kFloat, {1, 3, 3, 1});
  const int32_t w = model.Constant<float>({2, 2, 2, 1}, std::vector<float>(8, 0.5f));
  const int32_t b = model.Constant<float>({2}, {1, 2});
  const int32_t y = model.Tensor(kFloat, {1, 3, 3, 2}), z = model.Tensor(kFloat, {1, 3, 3, 2});
  model.Add(fb::BuiltinOperator_CONV_2D, {x, w, b}, {y},
            model.With(1, fb::CreateConvOptions(model.fbb, fb::Padding_SAME, 1, 1)));
  model.Add(fb::BuiltinOperator_SOFTMAX, {y}, {z}, model.With(9, fb::CreateSoftmaxOptions(model.fbb, 1)));
  return model.Finish({z});
}

// One operator on one input and constants.
struct One {
  ModelWriter model;
  int32_t x = model.Input(kFloat, {2, 3}), y = model.Tensor(kFloat, {2, 3});
  std::string Refused(fb::BuiltinOperator code, const std::vector<int32_t>& inputs,
                      ModelWriter::Options options = {0, 0}, int32_t version = 1) {
    model.Add(code, inputs, {y}, options, version);
    return Refusal(model.Finish({y}));
  }
};

TEST(TfliteDamage, AFileCutAnywhereIsRefusedOrStillWhole) {
  const std::string whole = SmallModel();
  ASSERT_EQ(Refusal(whole), "");
  size_t refused = 0;
  for (size_t size = 0; size < whole.size(); ++size) refused += !Refusal(whole.substr(0, size)).empty();
  EXPECT_GT(refused, whole.size() - 16);  // padding at the end may go
}

TEST(TfliteDamage, AnyByteMayBeWrong) { ExpectNoByteDoesHarm(SmallModel()); }

TEST(TfliteDamage, UnknownOperatorIsNamedWithItsPlaceAndVersion) {
  One one;
  const std::string refusal = one.Refused(fb::BuiltinOperator_LSH_PROJECTION, {one.x}, {0, 0}, 2);
  ExpectSays(refusal, "operator 0 (LSH_PROJECTION version 2)");
  ExpectSays(refusal, "is not supported; export the original model to ONNX");
}

TEST(TfliteDamage, CustomOperatorIsNamed) {
  One one;
  ExpectSays(one.Refused(fb::BuiltinOperator_CUSTOM, {one.x}), "tflite.custom.Frobnicate version 1");
}

TEST(TfliteDamage, OperatorCodeThatDoesNotExistIsRefused) {
  One one;
  ExpectSays(one.Refused(static_cast<fb::BuiltinOperator>(4000), {one.x}), "operator code 4000");
}

TEST(TfliteDamage, NewerVersionOfAnOperatorIsRefused) {
  One one;
  ExpectSays(one.Refused(fb::BuiltinOperator_TANH, {one.x}, {0, 0}, 99),
             "operator 0 (TANH version 99): has an unsupported version");
}

TEST(TfliteDamage, AnotherVersionOfTheFormatIsRefused) {
  ModelWriter model;
  const int32_t x = model.Input(kFloat, {2});
  ExpectSays(Refusal(model.Finish({x}, 2)), "has version 2 of the TensorFlow Lite schema; only version 3 is supported");
}

TEST(TfliteDamage, TensorsOutOfRangeAreRefused) {
  for (const int32_t tensor : {-2, 2, 1000, std::numeric_limits<int32_t>::max()}) {
    One one;
    ExpectSays(one.Refused(fb::BuiltinOperator_TANH, {tensor}), tensor == -2 ? "input 0 is missing" : "tensor index");
  }
}

TEST(TfliteDamage, OperatorsThatReadEachOtherAreRefused) {
  ModelWriter model;
  model.Input(kFloat, {2});
  const int32_t a = model.Tensor(kFloat, {2}), b = model.Tensor(kFloat, {2});
  model.Add(fb::BuiltinOperator_TANH, {a}, {b});
  model.Add(fb::BuiltinOperator_TANH, {b}, {a});
  ExpectSays(Refusal(model.Finish({a})), "operator 0 (TANH version 1): tensor 1 'tensor1': is used before");
}

TEST(TfliteDamage, ATensorMadeTwiceIsRefused) {
  ModelWriter model;
  const int32_t x = model.Input(kFloat, {2}), y = model.Tensor(kFloat, {2});
  model.Add(fb::BuiltinOperator_TANH, {x}, {y});
  model.Add(fb::BuiltinOperator_EXP, {x}, {y});
  ExpectSays(Refusal(model.Finish({y})), "operator 1 (EXP version 1): tensor 1 'tensor1': is produced more than once");
}

TEST(TfliteDamage, AnInputMadeByAnOperatorIsRefused) {
  ModelWriter model;
  const int32_t x = model.Input(kFloat, {2});
  model.Add(fb::BuiltinOperator_TANH, {x}, {x});
  ExpectSays(Refusal(model.Finish({x})), "is produced more than once");
}

TEST(TfliteDamage, ABufferOutOfRangeIsRefused) {
  One one;
  const int32_t b = one.model.Tensor(kFloat, {3}, {}, 77);
  ExpectSays(one.Refused(fb::BuiltinOperator_ADD, {one.x, b}), "buffer index 77 is out of range");
}

TEST(TfliteDamage, ABufferBehindTheFileIsRefused) {
  for (const uint64_t offset : {uint64_t{64}, uint64_t{3} << 30, ~uint64_t{0} - 4}) {
    One one;
    const int32_t b = one.model.Tensor(kFloat, {1 << 20}, {}, one.model.BufferAt(offset, 4 << 20));
    ExpectSays(one.Refused(fb::BuiltinOperator_ADD, {one.x, b}), "exceeds the file size");
  }
}

TEST(TfliteDamage, ABufferOfAnotherSizeIsRefused) {
  One one;
  const std::array<uint8_t, 8> bytes{};
  const int32_t b = one.model.Tensor(kFloat, {3}, {}, one.model.Buffer(bytes));
  ExpectSays(one.Refused(fb::BuiltinOperator_ADD, {one.x, b}), "has 8 bytes, but its float32 elements need 12");
}

TEST(TfliteDamage, ExtentsThatOverflowAreRefused) {
  One one;
  const std::array<uint8_t, 8> bytes{};
  const int32_t big = std::numeric_limits<int32_t>::max();
  const int32_t b = one.model.Tensor(kFloat, {big, big, big, big}, {}, one.model.Buffer(bytes));
  ExpectSays(one.Refused(fb::BuiltinOperator_ADD, {one.x, b}), "operator 0 (ADD version 1)");
}

TEST(TfliteDamage, ANegativeExtentIsRefused) {
  ModelWriter model;
  const int32_t x = model.Input(kFloat, {2, -7});
  ExpectSays(Refusal(model.Finish({x})), "has the invalid extent -7");
}

TEST(TfliteDamage, SparseElementTypesAndStringsAreNamed) {
  ModelWriter model;
  const int32_t x = model.Input(fb::TensorType_STRING, {2});
  ExpectSays(Refusal(model.Finish({x})), "input 0: tensor 0 'tensor0': has elements of type STRING");
}

TEST(TfliteDamage, ElementTypeThatDoesNotExistIsRefused) {
  ModelWriter model;
  const int32_t x = model.Input(static_cast<fb::TensorType>(99), {2});
  ExpectSays(Refusal(model.Finish({x})), "has the invalid element type 99");
}

TEST(TfliteDamage, QuantizationThatDoesNotFitIsRefused) {
  const struct {
    Quantization quantization;
    const char* says;
  } cases[] = {{{{std::numeric_limits<float>::quiet_NaN()}, {0}}, "has the invalid scale nan"},
               {{{-1}, {0}}, "has the invalid scale -1"},
               {{{0.1f}, {300}}, "has the zero point 300"},
               {{{0.1f}, {0, 0, 0}}, "has 3 zero points, but 1 scales"},
               {{{0.1f, 0.2f}, {0, 0}, 1}, "has 2 scales, expected 3, the extent of dimension 1"},
               {{{0.1f, 0.2f}, {0, 0}, 2}, "quantized_dimension 2 is out of range for rank 2"},
               {{{0.1f, 0.2f}, {0, 0}, -1}, "quantized_dimension -1 is out of range for rank 2"}};
  for (const auto& it : cases) {
    ModelWriter model;
    const int32_t x = model.Input(fb::TensorType_INT8, {2, 3}, it.quantization);
    ExpectSays(Refusal(model.Finish({x})), it.says);
  }
}

TEST(TfliteDamage, OptionsOfAnotherOperatorAreRefused) {
  One one;
  ExpectSays(one.Refused(fb::BuiltinOperator_SOFTMAX, {one.x},
                         one.model.With(1, fb::CreateConvOptions(one.model.fbb, fb::Padding_SAME, 1, 1))),
             "has builtin_options of type 1, expected 9");
}

// A conversion of such a number to the type of the elements is undefined behaviour.
TEST(TfliteDamage, NumbersThatTheElementsCannotHaveAreRefused) {
  ModelWriter bytes;
  const int32_t x = bytes.Input(fb::TensorType_UINT8, {2, 3}), y = bytes.Tensor(fb::TensorType_UINT8, {2, 3});
  bytes.Add(fb::BuiltinOperator_RELU_N1_TO_1, {x}, {y});
  ExpectSays(Refusal(bytes.Finish({y})), "elements of type uint8 cannot have the value -1");

  for (const float beta : {0.5f, 1e30f, std::numeric_limits<float>::quiet_NaN()}) {
    ModelWriter integers;
    const int32_t a = integers.Input(fb::TensorType_INT64, {2, 3}), b = integers.Tensor(fb::TensorType_INT64, {2, 3});
    integers.Add(fb::BuiltinOperator_SOFTMAX, {a}, {b}, integers.With(9, fb::CreateSoftmaxOptions(integers.fbb, beta)));
    ExpectSays(Refusal(integers.Finish({b})), "elements of type int64 cannot have the value");
  }
}

TEST(TfliteDamage, AxesOutOfRangeAreRefused) {
  One one;
  ExpectSays(one.Refused(fb::BuiltinOperator_CONCATENATION, {one.x, one.x},
                         one.model.With(10, fb::CreateConcatenationOptions(one.model.fbb, 2))),
             "axis 2 is out of range for rank 2");
}

TEST(TfliteDamage, StridesOfZeroAreRefused) {
  ModelWriter model;
  const int32_t x = model.Input(kFloat, {1, 3, 3, 1}), w = model.Constant<float>({1, 1, 1, 1}, {2});
  const int32_t y = model.Tensor(kFloat, {1, 3, 3, 1});
  model.Add(fb::BuiltinOperator_CONV_2D, {x, w}, {y});
  ExpectSays(Refusal(model.Finish({y})), "operator 0 (CONV_2D version 1): strides must be between");
}

TEST(TfliteDamage, WeightsThatDoNotFitTheChannelsAreRefused) {
  ModelWriter model;
  const int32_t x = model.Input(kFloat, {1, 3, 3, 3}), w = model.Constant<float>({1, 1, 1, 2}, {2, 3});
  const int32_t y = model.Tensor(kFloat, {1, 3, 3, 1});
  model.Add(fb::BuiltinOperator_CONV_2D, {x, w}, {y},
            model.With(1, fb::CreateConvOptions(model.fbb, fb::Padding_SAME, 1, 1)));
  ExpectSays(Refusal(model.Finish({y})), "3 input channels do not match weights for 2 channels");
}

TEST(TfliteDamage, ResultsOfAnotherTypeThanTheFileSaysAreRefused) {
  ModelWriter model;
  const int32_t x = model.Input(kFloat, {2}), y = model.Tensor(fb::TensorType_INT32, {2});
  model.Add(fb::BuiltinOperator_TANH, {x}, {y});
  ExpectSays(Refusal(model.Finish({y})), "is declared as int32, but its operator produces float32");
}

TEST(TfliteDamage, TooFewAndTooManyOperandsAreRefused) {
  One few, many;
  ExpectSays(few.Refused(fb::BuiltinOperator_ADD, {few.x}),
             "operator 0 (ADD version 1): has 1 inputs, expected at least 2");
  ExpectSays(many.Refused(fb::BuiltinOperator_TANH, {many.x, many.x}), "has 2 inputs, expected at most 1");
}

TEST(TfliteDamage, AListSharedByManyOperatorsIsCounted) {
  ModelWriter model;
  const int32_t x = model.Input(kFloat, {2});
  const std::vector<int32_t> all(20000, x);
  const auto shared = model.fbb.CreateVector(all);
  std::vector<flatbuffers::Offset<fb::Operator>> operators;
  std::vector<flatbuffers::Offset<fb::Tensor>> tensors;
  const auto dims = model.fbb.CreateVector(std::vector<int32_t>{2});
  for (int32_t i = 0; i <= 2000; ++i) tensors.push_back(fb::CreateTensor(model.fbb, dims));
  for (int32_t i = 1; i <= 2000; ++i) {
    const auto made = model.fbb.CreateVector(std::vector<int32_t>{i});
    operators.push_back(fb::CreateOperator(model.fbb, 0, shared, made));
  }
  const auto inputs = model.fbb.CreateVector(std::vector<int32_t>{0});
  const auto graph =
      fb::CreateSubGraph(model.fbb, model.fbb.CreateVector(tensors), inputs, inputs, model.fbb.CreateVector(operators));
  const auto code = fb::CreateOperatorCode(model.fbb, fb::BuiltinOperator_ADD_N, 0, 1, fb::BuiltinOperator_ADD_N);
  const auto codes = model.fbb.CreateVector(&code, 1);
  const auto graphs = model.fbb.CreateVector(&graph, 1);
  const auto buffer = fb::CreateBuffer(model.fbb);
  const auto buffers = model.fbb.CreateVector(&buffer, 1);
  fb::FinishModelBuffer(model.fbb, fb::CreateModel(model.fbb, 3, codes, graphs, 0, buffers));
  ExpectSays(Refusal({reinterpret_cast<const char*>(model.fbb.GetBufferPointer()), model.fbb.GetSize()}),
             "expands to far more than the file size");
}

TEST(TfliteDamage, AModelWithoutGraphOrOutputsIsRefused) {
  flatbuffers::FlatBufferBuilder fbb;
  fb::FinishModelBuffer(fbb, fb::CreateModel(fbb, 3));
  ExpectSays(Refusal({reinterpret_cast<const char*>(fbb.GetBufferPointer()), fbb.GetSize()}), "has no graph");
  ModelWriter model;
  model.Input(kFloat, {2});
  ExpectSays(Refusal(model.Finish({})), "has no outputs");
}

}  // namespace
}  // namespace deputy::test
