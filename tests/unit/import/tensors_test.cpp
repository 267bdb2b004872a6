#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>

#include "unit/import/model_builder.hpp"

namespace deputy::host {
namespace {

using test::ModelBuilder;
using test::OnnxImporter;

onnx::TensorProto Proto(int32_t dtype, std::vector<int64_t> dims) {
  onnx::TensorProto proto;
  proto.set_data_type(dtype);
  for (const int64_t dim : dims) proto.add_dims(dim);
  return proto;
}

Result<Tensor> Read(const onnx::TensorProto& proto) {
  const std::string bytes = proto.SerializeAsString();
  return OnnxImporter().ReadTensor({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
}

template <class T>
std::vector<T> Values(const Tensor& tensor) {
  const std::span<const T> values = tensor.values<T>();
  return {values.begin(), values.end()};
}

TEST(Tensors, RawDataIsReadWithItsShape) {
  onnx::TensorProto proto = Proto(onnx::TensorProto::INT16, {2, 1});
  proto.set_raw_data(std::string("\x01\x00\xff\xff", 4));
  const Result<Tensor> tensor = Read(proto);
  ASSERT_TRUE(tensor.ok()) << tensor.status().ToString();
  EXPECT_EQ(tensor->dtype(), DType::kInt16);
  EXPECT_EQ(tensor->shape(), (Shape{2, 1}));
  EXPECT_EQ(Values<int16_t>(*tensor), (std::vector<int16_t>{1, -1}));
}

TEST(Tensors, FloatsAreReadFromTheirList) {
  onnx::TensorProto proto = Proto(onnx::TensorProto::FLOAT, {2});
  proto.add_float_data(1.5f);
  proto.add_float_data(-2.0f);
  const Result<Tensor> tensor = Read(proto);
  ASSERT_TRUE(tensor.ok());
  EXPECT_EQ(Values<float>(*tensor), (std::vector<float>{1.5f, -2.0f}));
}

TEST(Tensors, HalfFloatsAreReadFromTheIntList) {
  onnx::TensorProto proto = Proto(onnx::TensorProto::FLOAT16, {2});
  proto.add_int32_data(0x3c00);
  proto.add_int32_data(0xfc00);
  const Result<Tensor> tensor = Read(proto);
  ASSERT_TRUE(tensor.ok()) << tensor.status().ToString();
  EXPECT_EQ(Values<uint16_t>(*tensor), (std::vector<uint16_t>{0x3c00, 0xfc00}));
}

TEST(Tensors, BFloatsAreReadFromTheIntList) {
  onnx::TensorProto proto = Proto(onnx::TensorProto::BFLOAT16, {1});
  proto.add_int32_data(0x3f80);
  const Result<Tensor> tensor = Read(proto);
  ASSERT_TRUE(tensor.ok());
  EXPECT_EQ(tensor->dtype(), DType::kBFloat16);
}

TEST(Tensors, SmallIntegersAreReadFromTheIntList) {
  for (const auto& [dtype, value] :
       {std::pair(onnx::TensorProto::INT8, -128), std::pair(onnx::TensorProto::UINT8, 255),
        std::pair(onnx::TensorProto::INT16, -32768), std::pair(onnx::TensorProto::UINT16, 65535),
        std::pair(onnx::TensorProto::INT32, -1), std::pair(onnx::TensorProto::BOOL, 1)}) {
    onnx::TensorProto proto = Proto(dtype, {});
    proto.add_int32_data(value);
    const Result<Tensor> tensor = Read(proto);
    ASSERT_TRUE(tensor.ok()) << onnx::TensorProto::DataType_Name(dtype);
    // The low bytes of the number, in the order of this machine.
    EXPECT_EQ(std::memcmp(tensor->data(), &value, tensor->byte_size()), 0) << onnx::TensorProto::DataType_Name(dtype);
  }
}

TEST(Tensors, PackedElementsAreReadByteByByte) {
  onnx::TensorProto proto = Proto(22, {3});  // INT4, which this protobuf's list of types does not name
  proto.add_int32_data(0x21);
  EXPECT_FALSE(Read(proto).ok());
  proto.add_int32_data(0x0f);
  const Result<Tensor> tensor = Read(proto);
  ASSERT_TRUE(tensor.ok()) << tensor.status().ToString();
  EXPECT_EQ(tensor->dtype(), DType::kInt4);
  EXPECT_EQ(tensor->element_count(), 3);
  EXPECT_EQ(Values<uint8_t>(*tensor), (std::vector<uint8_t>{0x21, 0x0f}));
}

TEST(Tensors, UnsignedIntegersAreReadFromTheLongList) {
  onnx::TensorProto proto = Proto(onnx::TensorProto::UINT32, {1});
  proto.add_uint64_data(0xffffffffu);
  const Result<Tensor> tensor = Read(proto);
  ASSERT_TRUE(tensor.ok());
  EXPECT_EQ(Values<uint32_t>(*tensor), (std::vector<uint32_t>{0xffffffffu}));
}

TEST(Tensors, DoublesAndLongsAreReadFromTheirLists) {
  onnx::TensorProto doubles = Proto(onnx::TensorProto::DOUBLE, {1});
  doubles.add_double_data(0.1);
  onnx::TensorProto longs = Proto(onnx::TensorProto::INT64, {1});
  longs.add_int64_data(INT64_MIN);
  ASSERT_TRUE(Read(doubles).ok() && Read(longs).ok());
  EXPECT_EQ(Values<double>(*Read(doubles)), std::vector<double>{0.1});
  EXPECT_EQ(Values<int64_t>(*Read(longs)), std::vector<int64_t>{INT64_MIN});
}

TEST(Tensors, BoolsBecomeZeroOrOne) {
  onnx::TensorProto proto = Proto(onnx::TensorProto::BOOL, {3});
  proto.set_raw_data(std::string("\x00\x01\x80", 3));
  const Result<Tensor> tensor = Read(proto);
  ASSERT_TRUE(tensor.ok());
  EXPECT_EQ(Values<uint8_t>(*tensor), (std::vector<uint8_t>{0, 1, 1}));
}

TEST(Tensors, TensorWithoutElementsIsRead) {
  const Result<Tensor> tensor = Read(Proto(onnx::TensorProto::FLOAT, {0, 3}));
  ASSERT_TRUE(tensor.ok());
  EXPECT_FALSE(tensor->empty());
  EXPECT_EQ(tensor->byte_size(), 0u);
}

TEST(Tensors, R11_ProductOfExtentsThatOverflowsIsRefused) {
  const Result<Tensor> tensor = Read(Proto(onnx::TensorProto::FLOAT, {1LL << 32, 1LL << 32}));
  ASSERT_FALSE(tensor.ok());
  EXPECT_EQ(tensor.status().code(), StatusCode::kModel);
}

TEST(Tensors, R11_NegativeExtentIsRefused) {
  const Result<Tensor> tensor = Read(Proto(onnx::TensorProto::FLOAT, {-1}));
  ASSERT_FALSE(tensor.ok());
  EXPECT_EQ(tensor.status().code(), StatusCode::kModel);
}

TEST(Tensors, R12_ZeroTimesHugeExtentsIsRefused) {
  EXPECT_FALSE(Read(Proto(onnx::TensorProto::FLOAT, {0, 1LL << 62, 1LL << 62})).ok());
}

TEST(Tensors, R13_RawDataOfWrongLengthIsRefused) {
  onnx::TensorProto proto = Proto(onnx::TensorProto::FLOAT, {2});
  proto.set_raw_data("1234567");
  const Result<Tensor> tensor = Read(proto);
  ASSERT_FALSE(tensor.ok());
  EXPECT_EQ(tensor.status().message(), "has 7 bytes, but its float32 elements need 8");
}

TEST(Tensors, R13_ListOfWrongLengthIsRefused) {
  onnx::TensorProto proto = Proto(onnx::TensorProto::FLOAT, {2});
  proto.add_float_data(1);
  const Result<Tensor> tensor = Read(proto);
  ASSERT_FALSE(tensor.ok());
  EXPECT_EQ(tensor.status().message(), "has 1 elements, but its shape has 2");
}

TEST(Tensors, R13_RawDataAndListTogetherAreRefused) {
  onnx::TensorProto proto = Proto(onnx::TensorProto::FLOAT, {1});
  proto.set_raw_data("1234");
  proto.add_float_data(1);
  EXPECT_FALSE(Read(proto).ok());
}

TEST(Tensors, R13_HugeTensorWithoutDataIsRefusedUnallocated) {
  const Result<Tensor> tensor = Read(Proto(onnx::TensorProto::UINT8, {1LL << 50}));
  ASSERT_FALSE(tensor.ok());
  EXPECT_EQ(tensor.status().code(), StatusCode::kModel);
}

TEST(Tensors, R14_ElementTypeThatNobodyHasIsRefused) {
  const Result<Tensor> tensor = Read(Proto(1000, {1}));
  ASSERT_FALSE(tensor.ok());
  EXPECT_EQ(tensor.status().message(), "1000 is not a valid element type");
}

TEST(Tensors, R14_UndefinedElementTypeIsRefused) { EXPECT_FALSE(Read(Proto(0, {1})).ok()); }

TEST(Tensors, R14_ComplexNumbersAreNotSupported) {
  const Result<Tensor> tensor = Read(Proto(14, {1}));
  ASSERT_FALSE(tensor.ok());
  EXPECT_EQ(tensor.status().code(), StatusCode::kNotSupported);
  EXPECT_EQ(tensor.status().message(), "elements of complex64 are not supported");
}

TEST(Tensors, R14_ListOfAnotherTypeIsRefused) {
  onnx::TensorProto proto = Proto(onnx::TensorProto::FLOAT, {1});
  proto.add_int64_data(1);
  EXPECT_FALSE(Read(proto).ok());
}

TEST(Tensors, R14_NumberOutOfRangeIsRefused) {
  onnx::TensorProto proto = Proto(onnx::TensorProto::INT8, {1});
  proto.add_int32_data(128);
  const Result<Tensor> tensor = Read(proto);
  ASSERT_FALSE(tensor.ok());
  EXPECT_EQ(tensor.status().message(), "element 0 is 128, which is out of range for int8");
}

TEST(Tensors, R32_RankOf65IsRefused) {
  EXPECT_FALSE(Read(Proto(onnx::TensorProto::FLOAT, std::vector<int64_t>(65, 0))).ok());
}

TEST(Tensors, R35_StringsAreNotSupported) {
  onnx::TensorProto proto = Proto(onnx::TensorProto::STRING, {1});
  proto.add_string_data("text");
  const Result<Tensor> tensor = Read(proto);
  ASSERT_FALSE(tensor.ok());
  EXPECT_EQ(tensor.status().code(), StatusCode::kNotSupported);
}

TEST(Tensors, SegmentsAreNotSupported) {
  onnx::TensorProto proto = Proto(onnx::TensorProto::FLOAT, {1});
  proto.mutable_segment()->set_begin(0);
  proto.set_raw_data("1234");
  EXPECT_FALSE(Read(proto).ok());
}

// Bytes of a model with a uint8 constant, which is aligned wherever it lies.
std::string ModelWithBytes() {
  ModelBuilder builder;
  builder.Input("x", {4}, onnx::TensorProto::UINT8);
  builder.Initializer("w", {4}, onnx::TensorProto::UINT8, "abcd");
  builder.Node("Equal", {"x", "w"}, {"y"});
  builder.Output("y");
  return builder.Bytes();
}

const Value& ValueNamed(const Graph& graph, const std::string& name) {
  for (const Value& value : graph.values)
    if (value.name == name) return value;
  static const Value kNone;
  return kNone;
}

TEST(Tensors, WeightsOfAMappedModelPointIntoIt) {
  const auto bytes = std::make_shared<const std::string>(ModelWithBytes());
  const auto* begin = reinterpret_cast<const uint8_t*>(bytes->data());
  const Result<Graph> graph = OnnxImporter().Import({{begin, bytes->size()}, bytes, "m.onnx"});
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  const auto* data = static_cast<const uint8_t*>(ValueNamed(*graph, "w").constant.data());
  EXPECT_TRUE(data > begin && data < begin + bytes->size());
  EXPECT_EQ(bytes.use_count(), 2);  // here and in the tensor
}

TEST(Tensors, WeightsOfABufferAreCopied) {
  auto bytes = std::make_unique<std::string>(ModelWithBytes());
  const Result<Graph> graph = ModelBuilder::ImportBytes(*bytes);
  ASSERT_TRUE(graph.ok());
  bytes.reset();
  EXPECT_EQ(Values<char>(ValueNamed(*graph, "w").constant), (std::vector<char>{'a', 'b', 'c', 'd'}));
}

}  // namespace
}  // namespace deputy::host
