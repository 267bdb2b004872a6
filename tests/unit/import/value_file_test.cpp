// SequenceProto and OptionalProto as the backend tests of ONNX hold them, whole, cut off and altered.
#include "import/onnx/value_file.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "unit/import/model_builder.hpp"

namespace deputy::host {
namespace {

using test::OnnxImporter;

// Messages by hand: the protobuf types of these two are in no header that tests use.
std::string Varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}
std::string Number(uint64_t field, uint64_t value) { return Varint(field << 3) + Varint(value); }
std::string Part(uint64_t field, const std::string& bytes) {
  return Varint(field << 3 | 2) + Varint(bytes.size()) + bytes;
}
std::string TensorProto(std::vector<float> values) {
  onnx::TensorProto proto;
  proto.set_data_type(onnx::TensorProto::FLOAT);
  proto.add_dims(static_cast<int64_t>(values.size()));
  for (const float value : values) proto.add_float_data(value);
  return proto.SerializeAsString();
}

constexpr uint64_t kTensorElements = 1, kSequenceElement = 3;
std::string Sequence(const std::vector<std::string>& tensors) {
  std::string bytes = Part(1, "name") + Number(2, kTensorElements);
  for (const std::string& tensor : tensors) bytes += Part(3, tensor);
  return bytes;
}
std::string OptionalSequence(const std::string& sequence) { return Number(2, kSequenceElement) + Part(5, sequence); }
std::string OptionalTensor(const std::string& tensor) { return Number(2, kTensorElements) + Part(3, tensor); }

Result<ModelValue> Read(const std::string& bytes, ValueKind kind, DType dtype = DType::kFloat32) {
  return OnnxImporter().ReadValue({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, kind, dtype);
}

TEST(ValueFile, ElementsAreReadInOrder) {
  const Result<ModelValue> value = Read(Sequence({TensorProto({1, 2}), TensorProto({3})}), ValueKind::kSequence);
  ASSERT_TRUE(value.ok()) << value.status().ToString();
  ASSERT_EQ(value->elements().size(), 2u);
  EXPECT_EQ(value->elements()[0].shape(), Shape{2});
  EXPECT_EQ(value->elements()[1].values<float>()[0], 3);
}

TEST(ValueFile, ASequenceWithoutElementsHasTheTypeThatIsAskedFor) {
  const Result<ModelValue> value = Read(Sequence({}), ValueKind::kSequence, DType::kInt64);
  ASSERT_TRUE(value.ok());
  EXPECT_TRUE(value->is_sequence());
  EXPECT_EQ(value->dtype(), DType::kInt64);
}

TEST(ValueFile, AnEmptyOptionalIsNothing) {
  for (const std::string& bytes : {std::string(), Number(2, 0), Part(1, "name") + Number(2, 0)})
    for (const ValueKind kind : {ValueKind::kOptionalTensor, ValueKind::kOptionalSequence}) {
      const Result<ModelValue> value = Read(bytes, kind);
      ASSERT_TRUE(value.ok()) << value.status().ToString();
      EXPECT_TRUE(value->empty());
    }
}

TEST(ValueFile, AnOptionalHoldsATensorOrASequence) {
  const Result<ModelValue> tensor = Read(OptionalTensor(TensorProto({5})), ValueKind::kOptionalTensor);
  ASSERT_TRUE(tensor.ok()) << tensor.status().ToString();
  EXPECT_EQ(tensor->tensor().values<float>()[0], 5);
  const Result<ModelValue> sequence =
      Read(OptionalSequence(Sequence({TensorProto({5}), TensorProto({6})})), ValueKind::kOptionalSequence);
  ASSERT_TRUE(sequence.ok()) << sequence.status().ToString();
  EXPECT_EQ(sequence->elements().size(), 2u);
}

TEST(ValueFile, ASequenceStandsForAnOptionalOne) {
  const Result<ModelValue> value = Read(Sequence({TensorProto({1})}), ValueKind::kOptionalSequence);
  ASSERT_TRUE(value.ok()) << value.status().ToString();
  EXPECT_EQ(value->elements().size(), 1u);
}

TEST(ValueFile, SequencesOfSequencesAndMapsAreNotSupported) {
  EXPECT_EQ(Read(Number(2, 3) + Part(5, Sequence({})), ValueKind::kSequence).status().code(),
            StatusCode::kNotSupported);
  EXPECT_EQ(Read(Number(2, 4) + Part(6, ""), ValueKind::kSequence).status().code(), StatusCode::kNotSupported);
  EXPECT_EQ(Read(Number(2, 5) + Part(7, ""), ValueKind::kOptionalTensor).status().code(), StatusCode::kNotSupported);
}

TEST(ValueFile, ElementsOfSeveralTypesAreRefused) {
  onnx::TensorProto other;
  other.set_data_type(onnx::TensorProto::INT64);
  other.add_dims(0);
  EXPECT_EQ(Read(Sequence({TensorProto({1}), other.SerializeAsString()}), ValueKind::kSequence).status().message(),
            "element 1 of a sequence of float32 is int64");
}

TEST(ValueFile, AnOptionalOfSeveralTensorsIsDamaged) {
  const std::string tensor = TensorProto({1});
  EXPECT_EQ(Read(OptionalTensor(tensor) + Part(3, tensor), ValueKind::kOptionalTensor).status().code(),
            StatusCode::kModel);
}

TEST(ValueFile, ADamagedElementIsNamed) {
  const Status status = Read(Sequence({TensorProto({1}), "\x09"}), ValueKind::kSequence).status();
  EXPECT_EQ(status.code(), StatusCode::kModel);
  EXPECT_EQ(status.where(), "element 1");
}

TEST(ValueFile, CutOffAnywhereItIsRefusedOrShorter) {
  const std::string whole = OptionalSequence(Sequence({TensorProto({1, 2}), TensorProto({3})}));
  for (size_t size = 0; size < whole.size(); ++size) {
    const Result<ModelValue> value = Read(whole.substr(0, size), ValueKind::kOptionalSequence);
    EXPECT_TRUE(!value.ok() || value->elements().empty()) << size;
  }
}

TEST(ValueFile, AlteredBytesNeverGiveMoreThanTheFileHolds) {
  const std::string whole = OptionalSequence(Sequence({TensorProto({1, 2}), TensorProto({3})}));
  const uint32_t seed = 17;
  std::mt19937 random(seed);
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = whole;
    for (uint32_t i = 0; i < 1 + random() % 4; ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
    for (const ValueKind kind : {ValueKind::kSequence, ValueKind::kOptionalTensor, ValueKind::kOptionalSequence}) {
      const Result<ModelValue> value = Read(bytes, kind);
      if (!value.ok()) continue;
      size_t held = value->tensor().byte_size();
      for (const Tensor& element : value->elements()) held += element.byte_size();
      ASSERT_LE(held, whole.size()) << "seed " << seed << ", round " << round;
    }
  }
}

}  // namespace
}  // namespace deputy::host
